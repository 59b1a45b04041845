import { computed, signal } from '@preact/signals';
import { OPERATIONS, PUBLIC_OPERATIONS, type Operations, type PublicOperations } from '@relay/client';
import {
  Api,
  forgetAsked,
  forgetLoaded,
  forgetTyped,
  nextCursor,
  replace,
  waitOf,
  wordsOf,
  type AnswerOf,
  type Choices,
} from '@relay/ui';
import { titleOf } from './words.js';

type All = Operations & PublicOperations;

/** Type of the answer of an API call. @param Name id of the operation */
export type Answer<Name extends keyof All> = AnswerOf<All, Name>;

type Token = Answer<'tradePortalCode'>;

/** Access token; undefined while signed out. It is only in memory. After a reload the handle gets it again. */
export const session = signal<Token | undefined>(undefined);

/** Message of the page before a partner has signed in and after the sign-out. */
export const outside = signal<{ readonly title: string; readonly words: string }>({
  title: 'Opening…',
  words: 'The link is being opened.',
});

export const mayWrite = computed(() => session.value?.access === 'write');
/** Whether the partner may add webhooks. Only a session for all webhooks of the partner may do that. */
export const mayAdd = computed(() => mayWrite.value && session.value?.webhookIds === null);

export const api = new Api<All>({
  // The page is at `portal`, beside the paths of the API.
  base: new URL('.', document.baseURI),
  routes: { ...OPERATIONS, ...PUBLIC_OPERATIONS },
  credential: (): Record<string, string> =>
    session.value === undefined ? {} : { authorization: `Bearer ${session.value.token}` },
  curlCredential: '-H "Authorization: Bearer $PARTNER_TOKEN"',
  ended: () => end('Your access has ended'),
});

const linkIn = (hash: string) => new URLSearchParams(hash.slice(1));

/**
 * Signs in again when another link to the portal is opened in this tab or frame. The browser does not load the page then,
 * because only the part of the address after `#` differs. So this function reloads it, which removes all data of the former
 * session. That session may belong to another partner.
 */
export function followLinks(): void {
  addEventListener('hashchange', () => {
    if (!linkIn(location.hash).has('code')) return;
    forgetTyped();
    location.reload();
  });
}

/**
 * Signs in with the code after `#`, or with the handle that this tab has from before it was loaded again. Removes the code
 * from the address and the history before it is used.
 */
export async function enter(): Promise<void> {
  const given = linkIn(location.hash);
  const [code, next] = [given.get('code'), given.get('next')];
  if (code !== null) {
    storeHandle();
    replace(`#${next ?? '/'}`);
    await signIn(() => api.request('tradePortalCode', { body: { code } }), 'This link does not open');
  } else if (storedHandle() === null) end('You need a link to come in', `A link opens the portal in one tab. ${ASK}`);
  else
    await signIn(
      () => api.request('renewPortalToken', { body: { handle: storedHandle() ?? '' } }),
      'Your access has ended',
    );
}

type Traded = Awaited<ReturnType<typeof api.request<'tradePortalCode'>>>;

/** @param refusal title of the page if the relay refuses for good */
async function signIn(ask: () => Promise<Traded>, refusal: string): Promise<void> {
  try {
    const { body: token, headers } = await ask();
    session.value = token;
    storeHandle(token.handle);
    tellCopies(token.handle);
    // The expiry is measured by the relay's clock, because the reader's clock may be wrong by more than the token's
    // lifetime.
    const now = headers.get('date') ?? new Date().toISOString();
    setTimeout(() => end('Your access has ended'), Date.parse(token.expiresAt) - Date.parse(now));
  } catch (error) {
    const waitMs = waitOf(error);
    if (waitMs === undefined) {
      end(refusal, wordsOf(error));
      return;
    }
    // The code or the handle is still unused, so it opens the portal until it expires.
    outside.value = { title: 'Opening…', words: `${wordsOf(error)} This page asks again by itself.` };
    setTimeout(() => void signIn(ask, refusal), waitMs);
  }
}

const STORED = 'handle';

/** Returns the handle of this tab; null if it has none, or the browser gives the page no storage, as in some frames. */
function storedHandle(): string | null {
  try {
    return sessionStorage.getItem(STORED);
  } catch {
    return null;
  }
}

function storeHandle(handle?: string): void {
  try {
    if (handle === undefined) sessionStorage.removeItem(STORED);
    else sessionStorage.setItem(STORED, handle);
  } catch {
    // Without storage a reload signs the person out.
  }
}

/**
 * Connects the copies of one tab, which have the same handle. Each tells its new handle to the others, because an old handle
 * ends the session, and tells them the sign-out by the name of the session alone. Undefined without storage.
 */
const copies = ((): BroadcastChannel | undefined => {
  try {
    return new BroadcastChannel('portal-session');
  } catch {
    return undefined;
  }
})();
copies?.addEventListener('message', ({ data }) => {
  const [told, number] = String(data).split('.');
  const [own, known] = (storedHandle() ?? '').split('.');
  if (told !== own) return;
  if (number === undefined) end('You are signed out');
  else if (Number(number) > Number(known)) storeHandle(String(data));
});

// A channel is of one origin, so its messages name none.
// oxlint-disable-next-line unicorn/require-post-message-target-origin
const tellCopies = (text: string | undefined): void => copies?.postMessage(text);

/** Ends the session and signs out, in the copies of this tab too. */
export async function leave(): Promise<void> {
  tellCopies(storedHandle()?.split('.')[0]);
  await api.call('endPortalToken', {}).catch(() => undefined);
  end('You are signed out');
}

const ASK = 'Open the portal from your own application again: it makes a new link each time.';

function end(title: string, words = ASK): void {
  storeHandle();
  outside.value = { title, words };
  const frames = session.value?.frames;
  session.value = undefined;
  forgetLoaded();
  forgetAsked();
  if (frames !== undefined && parent !== globalThis.window) tellEmbedder(frames);
}

/**
 * Tells the page that embeds the portal that the session has ended, so that it can create another link. Only pages of the
 * origins in the token can receive the message.
 */
function tellEmbedder(frames: readonly string[]): void {
  const above = location.ancestorOrigins?.[0];
  for (const origin of frames)
    if (above === undefined || above === origin) parent.postMessage({ type: 'partner-relay:ended' }, origin);
}

/** A webhook as an option of a choice. */
export type Named = Pick<
  Answer<'listWebhookStates'>['webhooks'][number],
  'id' | 'eventType' | 'endPointUrl' | 'endPointName'
>;

const KEPT_MS = 60_000;

let kept: { readonly at: number; readonly names: Promise<readonly Named[]> } | undefined;

/** Returns all webhooks, oldest first. The result is cached for a minute, because a thousand webhooks take ten calls. */
export function allNames(): Promise<readonly Named[]> {
  if (kept === undefined || performance.now() - kept.at > KEPT_MS) {
    const names = loadNames();
    kept = { at: performance.now(), names };
    names.catch(forgetNames);
  }
  return kept.names;
}

/** Clears the cache of `allNames`. Must be called after this page has added, renamed or deleted a webhook. */
export function forgetNames(): void {
  kept = undefined;
}

export const choicesOf = (names: readonly Named[]): Choices =>
  Object.fromEntries(names.map((webhook) => [webhook.id, `${titleOf(webhook)} (${webhook.eventType})`]));

async function loadNames(): Promise<Named[]> {
  const names: Named[] = [];
  let cursor: string | undefined;
  do {
    const query = cursor === undefined ? {} : { cursor };
    const { headers, body } = await api.request('listWebhookStates', { query });
    names.push(...body.webhooks);
    cursor = nextCursor(headers);
  } while (cursor !== undefined);
  return names;
}
