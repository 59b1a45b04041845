import { Inject, Injectable } from '@nestjs/common';
import type { Webhook } from '@relay/webhooks';
import type { Attempted } from './attempts.js';
import { Breakers, NO_PROBE, type Probe } from './breakers.js';
import { EndpointSlots } from './endpoint-slots.js';
import { UnprovenOrigins } from './unproven-origins.js';

/** Reports the end of an attempt to everything that limits the attempts of its webhook and its endpoint. */
@Injectable()
export class EndpointReports {
  constructor(
    @Inject(EndpointSlots) private readonly slots: Pick<EndpointSlots, 'giveBack'>,
    @Inject(Breakers) private readonly breakers: Pick<Breakers, 'ended'>,
    @Inject(UnprovenOrigins) private readonly origins: Pick<UnprovenOrigins, 'delivered'>,
  ) {}

  /** @param probe breakers whose probe it was; they get the result by `Breakers.probed` instead */
  ended(webhook: Webhook, attempted: Attempted, probe: Probe = NO_PROBE): void {
    // The breakers come first: the delivery that gets the slot must know that the webhook asked for rest.
    const isOrigins = this.breakers.ended(webhook, attempted, Date.now(), probe);
    this.slots.giveBack(
      webhook,
      attempted.durationMs,
      isOrigins ? 'unreached' : attempted.failed ? 'failed' : 'succeeded',
    );
    if (attempted.disposition.kind === 'delivered') void this.origins.delivered(webhook.endpoint);
  }

  /** Gives the slot back if no attempt was made. */
  unused(webhook: Webhook): void {
    this.slots.giveBack(webhook, 0, 'unused');
  }

  /** Reports an attempt that this worker aborted. It says nothing about the endpoint unless the delivery succeeded. */
  brokenOff(webhook: Webhook, attempted: Attempted, probe: Probe = NO_PROBE): void {
    const isDelivered = attempted.disposition.kind === 'delivered';
    if (isDelivered) this.breakers.ended(webhook, attempted, Date.now(), probe);
    this.slots.giveBack(webhook, attempted.durationMs, 'unused');
    if (isDelivered) void this.origins.delivered(webhook.endpoint);
  }
}
