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

type All = Operations & PublicOperations;

/** The input of a call and its answer, by the name of the operation. */
export type Answer<Name extends keyof All> = AnswerOf<All, Name>;

type Token = Answer<'tradePortalCode'>;

/** Access token; `undefined` while signed out. It is in memory only, so closing the page forgets it. */
export const session = signal<Token | undefined>(undefined);

/** Message on the sign-in page. */
export const outside = signal<{ readonly title: string; readonly words: string }>({
  title: 'Opening…',
  words: 'The link is being opened.',
});

export const mayWrite = computed(() => session.value?.access === 'write');
/** Whether all webhooks of the partner are shown: then some can be added. */
export const mayAdd = computed(() => mayWrite.value && session.value?.webhookIds === null);

export const api = new Api<All>({
  // The document is at `portal`, beside the paths of the API.
  base: new URL('.', document.baseURI),
  routes: { ...OPERATIONS, ...PUBLIC_OPERATIONS },
  credential: (): Record<string, string> =>
    session.value === undefined ? {} : { authorization: `Bearer ${session.value.token}` },
  curlCredential: '-H "Authorization: Bearer $PARTNER_TOKEN"',
  ended: () => end('Your access has ended'),
});

const linkIn = (hash: string) => new URLSearchParams(hash.slice(1));

/**
 * Enters by each further link that is opened in this tab or frame: only the part behind `#` changes then, so the browser loads
 * nothing. The page is loaded again, so that nothing of the session before is left, which may be another partner's.
 */
export function followLinks(): void {
  addEventListener('hashchange', () => {
    if (!linkIn(location.hash).has('code')) return;
    forgetTyped();
    location.reload();
  });
}

/** Trades the code behind `#` for a token, and takes it out of the address and the history first. */
export async function enter(): Promise<void> {
  const given = linkIn(location.hash);
  const [code, next] = [given.get('code'), given.get('next')];
  if (code === null) {
    end('You need a link to come in', `The page keeps your access in memory only: loading it again ends it. ${ASK}`);
    return;
  }
  replace(`#${next ?? '/'}`);
  await trade(code);
}

async function trade(code: string): Promise<void> {
  try {
    const { body: token, headers } = await api.request('tradePortalCode', { body: { code } });
    session.value = token;
    // By the relay's clock: the reader's may be wrong by more than the token lives.
    const now = headers.get('date') ?? new Date().toISOString();
    setTimeout(() => end('Your access has ended'), Date.parse(token.expiresAt) - Date.parse(now));
  } catch (error) {
    const waitMs = waitOf(error);
    if (waitMs === undefined) {
      end('This link does not open', wordsOf(error));
      return;
    }
    // The code is not used up: it opens the portal until it expires.
    outside.value = { title: 'Opening…', words: `${wordsOf(error)} This page asks again by itself.` };
    setTimeout(() => void trade(code), waitMs);
  }
}

/** Ends the token and leaves. */
export async function leave(): Promise<void> {
  await api.call('endPortalToken', {}).catch(() => undefined);
  end('You have left');
}

const ASK = 'Open the portal from your own application again: it makes a new link each time.';

function end(title: string, words = ASK): void {
  outside.value = { title, words };
  const frames = session.value?.frames;
  session.value = undefined;
  forgetLoaded();
  forgetAsked();
  if (frames !== undefined && parent !== globalThis.window) tellEmbedder(frames);
}

/** The page that shows the portal in a frame learns of the end, and can make another link. No other page does. */
function tellEmbedder(frames: readonly string[]): void {
  const above = location.ancestorOrigins?.[0];
  for (const origin of frames)
    if (above === undefined || above === origin) parent.postMessage({ type: 'partner-relay:ended' }, origin);
}

/** A webhook to choose among. */
export type Named = Pick<
  Answer<'listWebhookStates'>['webhooks'][number],
  'id' | 'eventType' | 'endPointUrl' | 'endPointName'
>;

const KEPT_MS = 60_000;

let kept: { readonly at: number; readonly names: Promise<readonly Named[]> } | undefined;

/** All webhooks, oldest first. They are kept for a minute, because a thousand cost ten calls. */
export function allNames(): Promise<readonly Named[]> {
  if (kept === undefined || performance.now() - kept.at > KEPT_MS) {
    const names = loadNames();
    kept = { at: performance.now(), names };
    names.catch(forgetNames);
  }
  return kept.names;
}

/** To be called when this page has added, renamed or deleted a webhook. */
export function forgetNames(): void {
  kept = undefined;
}

export const choicesOf = (names: readonly Named[]): Choices =>
  Object.fromEntries(
    names.map(({ id, eventType, endPointName }) => [
      id,
      endPointName === null ? eventType : `${endPointName} (${eventType})`,
    ]),
  );

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
