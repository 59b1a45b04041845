import { barredUntil, type Breaker, CLOSED } from '@relay/breaker';
import type { EnvelopeType } from '@relay/events';
import type { ShownStatus } from '@relay/progress';
import type { Webhook } from '@relay/webhooks';
import type { Trouble, WebhookState } from './webhook-answers.js';

/** What Redis has of the state of all webhooks, by webhook id or by endpoint. */
export interface Troubles {
  readonly waiting: ReadonlyMap<string, { readonly deliveries: number }>;
  /** Epoch milliseconds, a space, and the version then. */
  readonly failing: Readonly<Record<string, string>>;
  readonly breakers: ReadonlyMap<string, Breaker>;
}

const timeOf = (at: number): string => new Date(at).toISOString();

export function stateOf(
  { webhook, status }: { readonly webhook: Webhook; readonly status: ShownStatus },
  { waiting, failing, breakers }: Troubles,
  now: number,
): WebhookState {
  const { id, partnerId, eventType, origin, endpoint, disabledReason } = webhook;
  const breaker = breakers.get(endpoint) ?? CLOSED;
  const barred = barredUntil(breaker, now);
  const since = Number(failing[id]?.split(' ', 1)[0] ?? 0);
  return {
    id,
    partnerId,
    eventType: eventType as EnvelopeType,
    origin,
    status,
    disabledReason: disabledReason ?? null,
    waiting: waiting.get(id)?.deliveries ?? 0,
    failingSince: since > 0 ? timeOf(since) : null,
    breaker: breaker.openUntil === 0 ? 'closed' : breaker.openUntil > now ? 'open' : 'half-open',
    notBefore: barred > now ? timeOf(barred) : null,
  };
}

export const hasTrouble = ({ breaker, failingSince, waiting }: WebhookState, trouble: Trouble): boolean =>
  ({ breaker: breaker !== 'closed', failing: failingSince !== null, waiting: waiting > 0 })[trouble];
