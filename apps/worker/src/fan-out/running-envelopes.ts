import { Injectable } from '@nestjs/common';
import type { SeenEntry } from '@relay/dedupe';
import type { EnvelopeRecord } from '@relay/events';
import { untilStored } from '@relay/jobs';
import type { LogPartition } from '@relay/progress';
import { ThrottledLog } from '@relay/telemetry';
import type { Webhook } from '@relay/webhooks';
import type { Delivery } from '../delivery/attempts.js';
import type { PartitionRecord, StoreAgain } from '../log/pending-writes.js';

/** The methods of `PartitionRecord` to which an envelope reports. */
type Handle = Pick<PartitionRecord, 'added' | 'begun' | 'markDuplicate' | 'park' | 'settled' | 'webhookSettled'>;

/**
 * Envelopes in flight, by id. Another record of the same envelope starts no new deliveries, but is settled together with the
 * envelope. Either the source has sent the envelope again, or the same record is read again because Redis lost its latest
 * writes. In the second case, Redis may have lost stored jobs and the ranges of parked webhooks. Therefore, the webhooks are
 * parked again, and the jobs are stored again before the envelope is settled. The ids of the jobs prevent duplicates.
 */
@Injectable()
export class RunningEnvelopes {
  readonly #running = new Map<string, RunningEnvelope>();

  constructor(private readonly log: ThrottledLog) {}

  get size(): number {
    return this.#running.size;
  }

  /** Starts an envelope. Returns undefined if it is already in flight; the record is then settled together with it. */
  start(entry: SeenEntry, at: LogPartition, offset: number, handle: Handle): RunningEnvelope | undefined {
    const origin = `${at.topic}/${at.partition}/${offset}`;
    handle.begun(entry);
    const running = this.#running.get(entry.id);
    if (running !== undefined) {
      running.join(origin, handle);
      return undefined;
    }
    const started = new RunningEnvelope(entry, origin, handle, this);
    this.#running.set(entry.id, started);
    return started;
  }

  find(envelopeId: string): RunningEnvelope | undefined {
    return this.#running.get(envelopeId);
  }

  /** Repeats the step until Redis has confirmed it. */
  store(again: StoreAgain): Promise<void> {
    return untilStored(again, this.log, {});
  }

  remove(entry: SeenEntry): void {
    this.#running.delete(entry.id);
  }
}

/**
 * One envelope with deliveries in flight, and all of its records. The records are settled when the last delivery has ended.
 */
export class RunningEnvelope {
  readonly #handles: Handle[];
  readonly #adds: StoreAgain[] = [];
  readonly #parked: string[] = [];
  #unsettled = 0;
  /** Set if the first record was read again. In that case, Redis may have lost earlier writes. */
  #isReadAgain = false;

  constructor(
    readonly entry: SeenEntry,
    /** Topic, partition and offset of the first record. */
    private readonly origin: string,
    private readonly handle: Handle,
    private readonly collection: Pick<RunningEnvelopes, 'store' | 'remove'>,
  ) {
    this.#handles = [handle];
  }

  /** Adds another record of the envelope: a repeat by the source, or the first record when it is read again. */
  join(origin: string, handle: Handle): void {
    this.#handles.push(handle);
    if (this.origin !== origin) return handle.markDuplicate();
    this.#isReadAgain = true;
    for (const webhookId of this.#parked) handle.park(webhookId);
  }

  /** Stores in memory that the envelope waits in the log for this webhook. */
  parked(webhookId: string): void {
    this.#parked.push(webhookId);
  }

  /** Sets the number of deliveries. Must be called before the first delivery is dispatched. */
  expect(deliveries: number): void {
    this.#unsettled = deliveries;
  }

  /** Creates the delivery of the envelope to one of its webhooks. */
  delivery(webhook: Webhook, record: EnvelopeRecord): Delivery {
    return { webhook, record, settle: (again) => this.#settled(webhook, again) };
  }

  #settled(webhook: Webhook, again: StoreAgain | undefined): void {
    this.#unsettled -= 1;
    if (again !== undefined) this.added(again);
    if (this.#unsettled > 0) this.handle.webhookSettled(this.entry.id, webhook.id);
    else this.settle();
  }

  /** Registers a stored job or dead letter of the envelope, so that it can be stored again. */
  added(again: StoreAgain): void {
    this.handle.added(again);
    this.#adds.push(again);
  }

  /** Settles all records. If the first record was read again in the meantime, first stores its jobs again. */
  settle(): undefined {
    if (this.#isReadAgain) void this.#storeAgain();
    else this.#end();
  }

  async #storeAgain(): Promise<void> {
    while (this.#isReadAgain) {
      this.#isReadAgain = false;
      await Promise.all(this.#adds.map((again) => this.#confirm(again)));
    }
    this.#end();
  }

  /** Stores a job again and reports it to all records at once, because Redis may lose it while the other jobs are stored. */
  async #confirm(again: StoreAgain): Promise<void> {
    await this.collection.store(again);
    for (const handle of this.#handles) handle.added(again);
  }

  #end(): void {
    this.collection.remove(this.entry);
    for (const handle of this.#handles) handle.settled(this.entry);
  }
}
