import { countText, distanceText, type Kind } from '@relay/ui';
import type { Answer } from './session.js';

export type WebhookState = Answer<'listWebhookStates'>['webhooks'][number];
export type Delivery = Answer<'listAllDeliveries'>['deliveries'][number];
type Attempt = Delivery['attempts'][number];
export type StoryDelivery = Answer<'readDeliveries'>['deliveries'][number];
export type StoryAttempt = StoryDelivery['attempts'][number];

/** State of a webhook as one word, and as sentences that say what to do. */
export interface Health {
  readonly kind: Kind;
  readonly word: string;
  readonly words: string;
}

const DISABLED: Readonly<Record<string, string>> = {
  gone: 'Your endpoint answered 410 Gone, so nothing is sent. Enable the webhook when the endpoint is back.',
  failing: 'Your endpoint failed for five days, so nothing is sent. Mend it, then enable the webhook.',
  unverified: 'A test delivery has to be answered 2xx first. Send one from the page of the webhook.',
  operator: 'The operator of the relay disabled it. Ask them why.',
  partner: 'You disabled it. What is sent to it waits for up to seven days.',
};

/** Describes the state of a webhook. @param nowMs epoch milliseconds */
export function healthOf(webhook: WebhookState, nowMs: number): Health {
  const { status, disabledReason, lastFailure, lastDelivered, dead, waiting } = webhook;
  if (status === 'disabled')
    return { kind: 'warn', word: 'disabled', words: DISABLED[disabledReason ?? ''] ?? 'Nothing is sent to it.' };
  if (status === 'parked')
    return {
      kind: 'bad',
      word: 'failing',
      words: 'Your endpoint does not take deliveries. They wait, and follow by themselves when it does.',
    };
  const failed = lastFailure !== null && (lastDelivered === null || lastFailure.at > lastDelivered.at);
  if (failed) {
    const when = distanceText(new Date(lastFailure.at), nowMs);
    return { kind: 'bad', word: 'failing', words: `The last attempt, ${when}, failed: ${causeOf(lastFailure).words}.` };
  }
  if (waiting > 0)
    return { kind: 'warn', word: 'delivers', words: `It delivers. ${waits(waiting)} for another attempt.` };
  if (dead > 0)
    return {
      kind: 'warn',
      word: 'delivers',
      words: 'It delivers again. Some older deliveries were given up: retry them.',
    };
  if (lastDelivered === null) return { kind: 'info', word: 'quiet', words: 'Nothing was sent to it in the last day.' };
  return { kind: 'good', word: 'delivers', words: 'All is well.' };
}

const waits = (count: number): string => (count === 1 ? '1 delivery waits' : `${countText(count)} deliveries wait`);

/** Why an attempt failed, in words and as the filter that finds deliveries with the same failure. */
interface Cause {
  readonly words: string;
  readonly query: { readonly httpStatus?: string; readonly error?: string };
}

const ERRORS: Readonly<Record<string, string>> = {
  timeout: 'no answer in time',
  dns: 'the name of the host was not found',
  tls: 'the certificate was not accepted',
  refused: 'the connection was refused',
};

export function causeOf({ status, error, detail }: Pick<Attempt | StoryAttempt, 'status' | 'error' | 'detail'>): Cause {
  if (status != null) return { words: `answered ${status}`, query: { httpStatus: String(status) } };
  if (error != null) return { words: ERRORS[error] ?? detail ?? error, query: { error } };
  return { words: detail ?? 'it failed', query: {} };
}

const REASONS: Readonly<Record<string, string>> = {
  attempts_exhausted: 'every attempt of the schedule failed',
  horizon_passed: 'it could not be delivered within its time',
  gone: 'the endpoint answered 410 Gone',
  id_conflict: 'another envelope had the same id',
  handling_failed: 'the relay could not handle it',
};

/** Returns why a delivery was given up, in words. */
export const givenUp = (reason: string | null): string => REASONS[reason ?? ''] ?? reason ?? 'unknown';

export const STATUS: Readonly<Record<Delivery['status'], Kind>> = { delivered: 'good', waiting: 'warn', dead: 'bad' };

/** Badge text and color for each state of a delivery. */
export const STATES: Readonly<Record<StoryDelivery['state'], { readonly kind: Kind; readonly word: string }>> = {
  delivered: { kind: 'good', word: 'delivered' },
  waiting: { kind: 'warn', word: 'waiting' },
  parked: { kind: 'warn', word: 'waiting' },
  replaying: { kind: 'warn', word: 'waiting' },
  pending: { kind: 'warn', word: 'waiting' },
  'dead-letter': { kind: 'bad', word: 'given up' },
  replayed: { kind: 'info', word: 'replayed' },
  purged: { kind: 'bad', word: 'removed' },
  cancelled: { kind: 'info', word: 'cancelled' },
};

/** Groups the failed deliveries by cause, the most frequent cause first. */
export function causesIn(deliveries: readonly Delivery[]): { cause: Cause; count: number }[] {
  const groups = new Map<string, { cause: Cause; count: number }>();
  for (const { status, attempts } of deliveries) {
    const last = attempts.at(-1);
    if (status === 'delivered' || last === undefined) continue;
    const cause = causeOf(last);
    const group = groups.get(cause.words) ?? { cause, count: 0 };
    groups.set(cause.words, { cause, count: group.count + 1 });
  }
  return [...groups.values()].toSorted((a, b) => b.count - a.count);
}

/** Counts the deliveries of each of the last 24 hours, the oldest hour first. */
export function hourly(deliveries: readonly Delivery[], nowMs: number): { delivered: number; failed: number }[] {
  const hours = Array.from({ length: 24 }, () => ({ delivered: 0, failed: 0 }));
  for (const { at, status } of deliveries) {
    const hour = hours[23 - Math.floor((nowMs - Date.parse(at)) / 3_600_000)];
    if (hour === undefined) continue;
    if (status === 'delivered') hour.delivered += 1;
    else hour.failed += 1;
  }
  return hours;
}

/** Returns the start of a time span such as `24h` in ISO 8601, or undefined if there is no span. */
export function spanSince(span: string | undefined, nowMs: number): string | undefined {
  const hours = /^(\d{1,4})h$/.exec(span ?? '')?.[1];
  return hours === undefined ? undefined : new Date(nowMs - Number(hours) * 3_600_000).toISOString();
}
