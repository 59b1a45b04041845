import { Inject, Injectable } from '@nestjs/common';
import type { Attempted } from './attempts.js';
import { Breakers } from './breakers.js';
import { EndpointSlots } from './endpoint-slots.js';
import { UnprovenOrigins, type Admission } from './unproven-origins.js';

/** Reports how an attempt ended to everything that limits the attempts of its endpoint. */
@Injectable()
export class EndpointReports {
  constructor(
    @Inject(EndpointSlots) private readonly slots: Pick<EndpointSlots, 'giveBack'>,
    @Inject(Breakers) private readonly breakers: Pick<Breakers, 'ended'>,
    @Inject(UnprovenOrigins) private readonly origins: Pick<UnprovenOrigins, 'ended'>,
  ) {}

  /** @param isProbe the breaker learns of a probe by `Breakers.probed` instead */
  ended(endpoint: string, admission: Admission, attempted: Attempted, isProbe = false): void {
    // The breaker first: the delivery that gets the slot must know that the endpoint asked for rest.
    if (!isProbe) this.breakers.ended(endpoint, attempted, Date.now());
    this.slots.giveBack(endpoint, attempted.durationMs, attempted.failed ? 'failed' : 'succeeded');
    const isDelivered = attempted.disposition.kind === 'delivered';
    void this.origins.ended(endpoint, admission, isDelivered ? 'delivered' : 'failed');
  }

  /** No attempt was made. */
  unused(endpoint: string, admission: Admission): void {
    this.slots.giveBack(endpoint, 0, 'unused');
    void this.origins.ended(endpoint, admission, 'unused');
  }

  /** This worker aborted the attempt, which says nothing about the endpoint unless the delivery still succeeded. */
  brokenOff(endpoint: string, admission: Admission, attempted: Attempted, isProbe = false): void {
    const isDelivered = attempted.disposition.kind === 'delivered';
    if (isDelivered && !isProbe) this.breakers.ended(endpoint, attempted, Date.now());
    this.slots.giveBack(endpoint, attempted.durationMs, 'unused');
    void this.origins.ended(endpoint, admission, isDelivered ? 'delivered' : 'failed');
  }
}
