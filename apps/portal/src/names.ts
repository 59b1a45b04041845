import { nextCursor, type Choices } from '@relay/ui';
import { api } from './session.js';
import type { WebhookState } from './words.js';

/** A webhook to choose among. */
export type Named = Pick<WebhookState, 'id' | 'eventType' | 'endPointUrl' | 'endPointName'>;

const KEPT_MS = 60_000;

let kept: { readonly at: number; readonly names: Promise<readonly Named[]> } | undefined;

/** All webhooks, oldest first. They are kept for a minute, because a thousand cost ten calls. */
export function allNames(): Promise<readonly Named[]> {
  if (kept === undefined || performance.now() - kept.at > KEPT_MS) {
    const names = load();
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

async function load(): Promise<Named[]> {
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
