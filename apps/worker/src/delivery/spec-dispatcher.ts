import type { ConcurrencyLimits } from '@relay/admission';
import type { RetryQueue } from '@relay/retry';
import type { ThrottledLog } from '@relay/telemetry';
import { EndpointReports } from './attempt-reports.js';
import { type Attempts, StraightAttempts, UnopenedWebhooks } from './attempts.js';
import type { Breakers } from './breakers.js';
import { DeliveryDispatcher, type AttemptRule, type DispatchBounds } from './delivery-dispatcher.js';
import { AttemptSlots } from './attempt-slots.js';
import type { UnprovenOrigins } from './unproven-origins.js';

// Only for specs: builds a real dispatcher. By default, every attempt is allowed and every origin has answered 2xx before.

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

/** Reports an idle process, because the real load of the process that runs the specs is random. */
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
