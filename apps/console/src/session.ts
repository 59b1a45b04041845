import { signal } from '@preact/signals';
import { OPERATIONS, PUBLIC_OPERATIONS, type Operations, type PublicOperations } from '@relay/operations-client';
import { Api, forgetAsked, forgetLoaded, forgetTyped, replace, waitOf, wordsOf, type AnswerOf } from '@relay/ui';

export interface Calls extends Operations, PublicOperations {
  readonly leaveConsole: { readonly data: { readonly url: '/session' }; readonly responses: { readonly 204: void } };
}
export type Answer<Name extends keyof Calls> = AnswerOf<Calls, Name>;
export type Role = 'viewer' | 'operator' | 'admin';

export const ROLES: readonly Role[] = ['viewer', 'operator', 'admin'];

/** The signed-in operator; null while signed out; undefined until the relay has answered. */
export const who = signal<Answer<'readSession'> | null | undefined>(undefined);
/** The text that says why the session ended. */
export const ended = signal('');

/**
 * Whether the person has done something since the last request. A page that only refreshes itself must not keep a session
 * alive.
 */
let acted = true;

/** The client for the API of the operations app. It uses the session of this browser. */
export const api = new Api<Calls>({
  base: new URL('./', location.href),
  routes: { ...OPERATIONS, ...PUBLIC_OPERATIONS, leaveConsole: ['DELETE', '/session'] },
  credential: () => {
    const mark = acted ? 'acting' : 'watching';
    acted = false;
    // The request names its operator, because another tab of this browser may have signed in a different one.
    return { 'relay-console': mark, ...(who.value ? { 'relay-console-operator': who.value.clientId } : {}) };
  },
  curlCredential: '-u "$OPERATOR_CLIENT_ID:$OPERATOR_CLIENT_SECRET"',
  ended: () =>
    end(
      who.value
        ? 'Your session has ended, or somebody else signed in in this browser. Sign in to go on where you were.'
        : ended.value,
    ),
});

function end(why: string): void {
  ended.value = why;
  who.value = null;
  forgetLoaded();
  forgetAsked();
}

/** Begins to watch for keys and clicks of the person. */
export function begin(): void {
  for (const event of ['keydown', 'pointerdown']) addEventListener(event, () => (acted = true), { capture: true });
}

/** The code of the link that opened this page, until it is used. */
let code: string | null = null;
const codeIn = (hash: string): string | null => new URLSearchParams(hash.slice(1)).get('code');

/**
 * Takes the code of a link out of the address and the history. If another link is opened in this tab, the page is loaded
 * again, because the session may belong to another operator then.
 */
export function takeCode(): void {
  code = codeIn(location.hash);
  if (code !== null) replace('#/');
  addEventListener('hashchange', () => {
    if (codeIn(location.hash) === null) return;
    forgetTyped();
    location.reload();
  });
}

/**
 * Signs in with the code of a link, or asks the relay who is signed in.
 * @throws Refused if the relay cannot answer; the session and the code may still be valid
 */
export async function recognise(): Promise<void> {
  try {
    who.value =
      code === null ? await api.call('readSession', {}) : await api.call('followConsoleLink', { body: { code } });
    code = null;
  } catch (error) {
    if (waitOf(error) !== undefined) throw error;
    if (code === null) {
      who.value = null;
      return;
    }
    // This browser may have opened the link before, and still have its session.
    [code, ended.value] = [null, wordsOf(error)];
    await recognise();
  }
}

/** @throws Refused */
export async function enter(clientId: string, clientSecret: string): Promise<void> {
  who.value = await api.call('enterConsole', { body: { clientId, clientSecret } });
  ended.value = '';
}

/** Signs out. @throws Refused if the relay did not end the session, so the session may still be valid */
export async function leave(): Promise<void> {
  await api.call('leaveConsole', {});
  end('You have left.');
}

/** Whether the signed-in operator has this role or a higher role, which is enough for looking. */
export const mayLook = (needed: Role): boolean =>
  who.value != null && ROLES.indexOf(who.value.role) >= ROLES.indexOf(needed);

/** Whether the signed-in operator may make the changes of this role. If `OPERATIONS_WRITE` is off, no operator may. */
export const may = (needed: Role): boolean => who.value?.canWrite === true && mayLook(needed);

export type QueryOf<Name extends keyof Calls> = NonNullable<
  Calls[Name]['data'] extends { query?: infer Query } ? Query : never
>;

/** The names of clients by id. Lists show these names. */
export const names = signal<ReadonlyMap<string, string>>(new Map());

/** Loads all clients and stores their names in `names`. @throws Refused */
export async function loadClients(): Promise<Answer<'listClients'>> {
  const found = await api.call('listClients', { query: { limit: 10_000 } });
  names.value = new Map(found.clients.map(({ clientId, name }) => [clientId, name]));
  return found;
}
