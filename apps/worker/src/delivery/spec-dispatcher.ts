import type { ConcurrencyLimits } from '@relay/admission';
import type { RetryQueue } from '@relay/retry';
import type { ThrottledLog } from '@relay/telemetry';
import { EndpointReports } from './attempt-reports.js';
import { type Attempts, StraightAttempts, UnopenedWebhooks } from './attempts.js';
import type { Breakers } from './breakers.js';
import { DeliveryDispatcher, type AttemptRule, type DispatchBounds } from './delivery-dispatcher.js';
import { AttemptSlots } from './attempt-slots.js';
import type { UnprovenOrigins } from './unproven-origins.js';

// For specs only: a dispatcher over its own parts, where every attempt is allowed and every origin proven unless told
// otherwise.

export interface SpecDispatcherParts {
  readonly limits: ConcurrencyLimits;
  readonly bounds: DispatchBounds;
  readonly attempts: Pick<Attempts, 'make'>;
  readonly queue: RetryQueue;
  readonly log: ThrottledLog;
  readonly rule?: Pick<AttemptRule, 'notBefore'>;
  readonly breakers?: Pick<Breakers, 'ended'>;
  readonly origins?: UnprovenOrigins;
}

const proven: Partial<UnprovenOrigins> = {
  isProven: () => true,
  delivered: () => Promise.resolve(),
  onProof: () => undefined,
};

/** The load of the process that runs the specs would be chance. */
const idle = { begin: () => undefined, beat: () => undefined, isBusy: false };

export function aDispatcher(parts: SpecDispatcherParts): { dispatcher: DeliveryDispatcher; slots: AttemptSlots } {
  const { limits, bounds, attempts, queue, log } = parts;
  const slots = new AttemptSlots(limits, idle);
  const origins = parts.origins ?? (proven as UnprovenOrigins);
  const reports = new EndpointReports(slots, parts.breakers ?? { ended: () => false }, origins);
  const made: Pick<Attempts, 'make' | 'failed'> = {
    make: (...args) => attempts.make(...args),
    failed: () => undefined,
  };
  const straight = new StraightAttempts(made, reports, queue, log, new UnopenedWebhooks(log));
  const rule = parts.rule ?? { notBefore: () => undefined };
  return { dispatcher: new DeliveryDispatcher(rule, slots, origins, straight, bounds), slots };
}
