import { Inject, Injectable } from '@nestjs/common';
import type { Attempted } from './attempts.js';
import { Breakers } from './breakers.js';
import { EndpointSlots } from './endpoint-slots.js';
import { UnprovenOrigins } from './unproven-origins.js';

/** Reports how an attempt ended to everything that limits the attempts of its endpoint. */
@Injectable()
export class EndpointReports {
  constructor(
    @Inject(EndpointSlots) private readonly slots: Pick<EndpointSlots, 'giveBack'>,
    @Inject(Breakers) private readonly breakers: Pick<Breakers, 'ended'>,
    @Inject(UnprovenOrigins) private readonly origins: Pick<UnprovenOrigins, 'delivered'>,
  ) {}

  /** @param isProbe the breaker learns of a probe by `Breakers.probed` instead */
  ended(endpoint: string, attempted: Attempted, isProbe = false): void {
    // The breaker first: the delivery that gets the slot must know that the endpoint asked for rest.
    if (!isProbe) this.breakers.ended(endpoint, attempted, Date.now());
    this.slots.giveBack(endpoint, attempted.durationMs, attempted.failed ? 'failed' : 'succeeded');
    if (attempted.disposition.kind === 'delivered') void this.origins.delivered(endpoint);
  }

  /** No attempt was made. */
  unused(endpoint: string): void {
    this.slots.giveBack(endpoint, 0, 'unused');
  }

  /** This worker aborted the attempt, which says nothing about the endpoint unless the delivery still succeeded. */
  brokenOff(endpoint: string, attempted: Attempted, isProbe = false): void {
    const isDelivered = attempted.disposition.kind === 'delivered';
    if (isDelivered && !isProbe) this.breakers.ended(endpoint, attempted, Date.now());
    this.slots.giveBack(endpoint, attempted.durationMs, 'unused');
    if (isDelivered) void this.origins.delivered(endpoint);
  }
}
