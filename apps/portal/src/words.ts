import { countOf, distanceText, partsOfUrl, type Kind } from '@relay/ui';
import type { Answer } from './session.js';

export type WebhookState = Answer<'listWebhookStates'>['webhooks'][number];
export type Delivery = Answer<'listAllDeliveries'>['deliveries'][number];
type Attempt = Delivery['attempts'][number];
export type StoryDelivery = Answer<'readDeliveries'>['deliveries'][number];
export type StoryAttempt = StoryDelivery['attempts'][number];

/** The title of a webhook: its name, or the host and path of its URL. */
export const titleOf = ({ endPointName, endPointUrl }: Pick<WebhookState, 'endPointName' | 'endPointUrl'>): string =>
  endPointName ?? partsOfUrl(endPointUrl).join('');

/** A state as one term of the glossary. */
export interface State {
  readonly kind: Kind;
  readonly word: string;
}

/** State of a webhook, with sentences that say what to do. */
export interface Health extends State {
  readonly words: string;
}

const DISABLED: Readonly<Record<string, string>> = {
  gone: 'Your endpoint answered 410 Gone. Enable the webhook when the endpoint is back.',
  failing: 'Your endpoint failed for five days. Mend it, then enable the webhook.',
  unverified: 'A test delivery has to be answered 2xx first. Send one from the page of the webhook.',
  operator: 'The operator of the relay disabled it. Ask them why.',
  partner: 'You disabled it. Its deliveries wait for up to seven days.',
};

/** Describes the state of a webhook. @param nowMs epoch milliseconds */
export function healthOf(webhook: WebhookState, nowMs: number): Health {
  const { status, disabledReason, lastFailure, lastDelivered, dead, waiting } = webhook;
  if (status === 'disabled')
    return { kind: 'warn', word: 'disabled', words: DISABLED[disabledReason ?? ''] ?? 'No delivery is sent.' };
  if (status === 'parked')
    return {
      kind: 'bad',
      word: 'failing',
      words: 'Your endpoint takes no deliveries. They wait, and are sent as soon as it answers 2xx again.',
    };
  const failed = lastFailure !== null && (lastDelivered === null || lastFailure.at > lastDelivered.at);
  if (failed) {
    const when = distanceText(new Date(lastFailure.at), nowMs);
    return { kind: 'bad', word: 'failing', words: `The last attempt, ${when}, failed: ${causeOf(lastFailure).words}.` };
  }
  if (waiting > 0) {
    const words = `New deliveries arrive. ${countOf(waiting, 'delivery waits', 'deliveries wait')} for another attempt.`;
    return { kind: 'warn', word: 'retrying', words };
  }
  if (dead > 0)
    return { kind: 'warn', word: 'active', words: 'New deliveries arrive. Earlier ones are dead letters: retry them.' };
  if (lastDelivered === null) return { kind: 'info', word: 'active', words: 'No delivery in the last 24 hours.' };
  return { kind: 'good', word: 'active', words: 'All is well.' };
}

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

/** Returns why a delivery is a dead letter, in words. */
export const whyDead = (reason: string | null): string => REASONS[reason ?? ''] ?? reason ?? 'unknown';

const WAITING: State = { kind: 'info', word: 'waiting' };
const DEAD: State = { kind: 'bad', word: 'dead letter' };

const STATES: Readonly<Record<Delivery['status'] | StoryDelivery['state'], State>> = {
  delivered: { kind: 'good', word: 'delivered' },
  waiting: WAITING,
  parked: WAITING,
  replaying: WAITING,
  pending: WAITING,
  dead: DEAD,
  'dead-letter': DEAD,
  replayed: { kind: 'info', word: 'replayed' },
  purged: { kind: 'bad', word: 'purged' },
  cancelled: { kind: 'info', word: 'cancelled' },
};

/** The state of a delivery, in a list or in the story of its envelope. @param attempts number of its attempts */
export const stateOf = (state: keyof typeof STATES, attempts: number): State =>
  STATES[state] === WAITING && attempts > 0 ? { kind: 'warn', word: 'retrying' } : STATES[state];

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
  for (const { at, status, attempts } of deliveries) {
    const hour = hours[23 - Math.floor((nowMs - Date.parse(at)) / 3_600_000)];
    if (hour === undefined) continue;
    if (status === 'delivered') hour.delivered += 1;
    else if (status === 'dead' || attempts.length > 0) hour.failed += 1;
  }
  return hours;
}

/** Returns the start of a time span such as `24h` in ISO 8601, or undefined if there is no span. */
export function spanSince(span: string | undefined, nowMs: number): string | undefined {
  const hours = /^(\d{1,4})h$/.exec(span ?? '')?.[1];
  return hours === undefined ? undefined : new Date(nowMs - Number(hours) * 3_600_000).toISOString();
}
