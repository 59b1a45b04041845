import { barredUntil, type Breaker, CLOSED } from '@relay/breaker';
import type { EnvelopeType } from '@relay/events';
import { type AttemptTotals, failureRateOf } from '@relay/history';
import type { ShownStatus } from '@relay/progress';
import type { Webhook } from '@relay/webhooks';
import type { Sort, Trouble, WebhookQuery, WebhookState } from './webhook-answers.js';

/** What Redis has of the state of all webhooks, by webhook id or by the key of a breaker. */
export interface Troubles {
  readonly waiting: ReadonlyMap<string, { readonly deliveries: number }>;
  /** Epoch milliseconds, a space, and the version then. */
  readonly failing: Readonly<Record<string, string>>;
  readonly breakers: ReadonlyMap<string, Breaker>;
}

/** A state without what has to be read webhook by webhook. */
export type RoughState = Omit<WebhookState, 'oldestWaitingSince' | 'failureRate'>;

const timeOf = (at: number): string => new Date(at).toISOString();

export function roughStateOf(
  { webhook, status }: { readonly webhook: Webhook; readonly status: ShownStatus },
  { waiting, failing, breakers }: Troubles,
  now: number,
): RoughState {
  const { id, partnerId, eventType, origin, endpoint, breakerKey, disabledReason } = webhook;
  // A delivery needs both closed.
  const both = [breakers.get(breakerKey) ?? CLOSED, breakers.get(endpoint) ?? CLOSED];
  const barred = Math.max(...both.map((breaker) => barredUntil(breaker, now)));
  const openUntil = Math.max(...both.map((breaker) => breaker.openUntil));
  const since = Number(failing[id]?.split(' ', 1)[0] ?? 0);
  return {
    id,
    partnerId,
    eventType: eventType as EnvelopeType,
    origin,
    status,
    disabledReason: disabledReason ?? null,
    createdAt: timeOf(webhook.createdAt),
    waiting: waiting.get(id)?.deliveries ?? 0,
    failingSince: since > 0 ? timeOf(since) : null,
    breaker: openUntil === 0 ? 'closed' : openUntil > now ? 'open' : 'half-open',
    notBefore: barred > now ? timeOf(barred) : null,
  };
}

/** @param oldest epoch milliseconds */
export const stateOf = (
  rough: RoughState,
  oldest: number | undefined,
  totals: AttemptTotals | undefined,
): WebhookState => ({
  ...rough,
  oldestWaitingSince: oldest === undefined ? null : timeOf(oldest),
  failureRate: totals === undefined ? null : failureRateOf(totals),
});

const hasTrouble = ({ breaker, failingSince, waiting }: RoughState, trouble: Trouble): boolean =>
  ({ breaker: breaker !== 'closed', failing: failingSince !== null, waiting: waiting > 0 })[trouble];

/** Whether a query asks for this webhook. */
export const isWanted = (state: RoughState, { status, eventType, trouble }: WebhookQuery): boolean =>
  (status === undefined || state.status === status) &&
  (eventType === undefined || state.eventType === eventType) &&
  (trouble === undefined || hasTrouble(state, trouble));

/** The worst first; those without a value last. What stands alike stays as it was. */
export const ORDERS: Readonly<Record<Exclude<Sort, 'waiting'>, (a: WebhookState, b: WebhookState) => number>> = {
  oldestWaiting: (a, b) => waitedSince(a) - waitedSince(b),
  failureRate: (a, b) => (b.failureRate ?? -1) - (a.failureRate ?? -1),
};

const waitedSince = ({ oldestWaitingSince }: WebhookState): number =>
  oldestWaitingSince === null ? Number.MAX_VALUE : Date.parse(oldestWaitingSince);
