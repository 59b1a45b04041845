import { Injectable } from '@nestjs/common';
import type { Attempted } from '../delivery/attempts.js';
import { Breakers } from '../delivery/breakers.js';
import { EndpointReports } from '../delivery/endpoint-reports.js';
import { EndpointSlots } from '../delivery/endpoint-slots.js';
import { FREE, UnprovenOrigins, type Admission } from '../delivery/unproven-origins.js';

/** Why a delivery that has a slot may not be attempted yet, or that it may. */
export type QueuedEntry =
  | { readonly kind: 'go'; readonly admission: Admission; readonly isProbe: boolean }
  /** Its origin has never answered 2xx, and another delivery has the turn. */
  | { readonly kind: 'turn-later' }
  /** Its endpoint's breaker is open. */
  | { readonly kind: 'later'; readonly admission: Admission; readonly at: number };

/**
 * What a queued attempt passes before it is made, and hands back after it: slot, turn of the origin, probe of the
 * breaker.
 */
@Injectable()
export class QueuedAdmission {
  constructor(
    private readonly slots: EndpointSlots,
    private readonly breakers: Breakers,
    private readonly origins: UnprovenOrigins,
    private readonly reports: EndpointReports,
  ) {}

  /** Takes a slot. @returns undefined when it has one, else epoch milliseconds at which to come again */
  takeSlot(endpoint: string): number | undefined {
    const rests = this.breakers.restsUntil(endpoint, Date.now());
    if (rests !== undefined) return rests;
    const slot = this.slots.take(endpoint);
    return slot.taken ? undefined : slot.at;
  }

  /**
   * Passes the rest, after the slot: a probe or turn that was claimed and then found no slot would keep all others
   * waiting. The turn comes before the probe for the same reason.
   */
  async enter(endpoint: string, jobId: string): Promise<QueuedEntry> {
    const admission = await this.origins.enter(endpoint, jobId);
    if (admission.kind === 'wait') return { kind: 'turn-later' };
    const entry = await this.breakers.enter(endpoint);
    return entry.mayGo ? { kind: 'go', admission, isProbe: entry.isProbe } : { kind: 'later', admission, at: entry.at };
  }

  /** Hands slot and turn back. An aborted attempt says nothing about the endpoint. */
  leave(
    endpoint: string,
    entry: QueuedEntry | undefined,
    attempted: Attempted | undefined,
    isBrokenOff: boolean,
  ): void {
    const admission = entry === undefined || entry.kind === 'turn-later' ? FREE : entry.admission;
    const isProbe = entry?.kind === 'go' && entry.isProbe;
    if (attempted === undefined) this.reports.unused(endpoint, admission);
    else if (isBrokenOff) this.reports.brokenOff(endpoint, admission, attempted, isProbe);
    else this.reports.ended(endpoint, admission, attempted, isProbe);
  }

  /** The breaker learns what a probe showed. */
  async probed(endpoint: string, attempted: Attempted): Promise<void> {
    await this.breakers.probed(endpoint, attempted, Date.now());
  }

  /**
   * Has `putBack` put the job back at the next free turn of its origin, and makes it due at once when the origin
   * answers 2xx.
   */
  async awaitTurn(endpoint: string, jobId: string, putBack: (at: number) => Promise<never>): Promise<never> {
    const at = this.origins.reserve(endpoint);
    try {
      return await putBack(at);
    } finally {
      await this.origins.hold(endpoint, jobId, at);
    }
  }
}
