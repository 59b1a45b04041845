import { Injectable } from '@nestjs/common';
import type { SeenEntry } from '@relay/dedupe';
import type { EnvelopeRecord } from '@relay/events';
import { untilStored } from '@relay/jobs';
import type { LogPartition } from '@relay/progress';
import { ThrottledLog } from '@relay/telemetry';
import type { Webhook } from '@relay/webhooks';
import type { Delivery } from '../delivery/attempts.js';
import type { PartitionRecord, StoreAgain } from '../log/pending-writes.js';

/** The part of a record that its envelope reports to. */
type Handle = Pick<PartitionRecord, 'added' | 'begun' | 'markDuplicate' | 'park' | 'settled' | 'webhookSettled'>;

/**
 * Envelopes that this worker runs, by id. A record that brings one of them again (a repeat of the source, or a re-read after
 * Redis went back) starts nothing: it is settled with the running envelope. Before a re-read, Redis may have lost added jobs and
 * the ranges of parked webhooks. Therefore the re-read parks these webhooks again, and the jobs are added again before anything
 * is settled; their ids make that harmless.
 */
@Injectable()
export class RunningEnvelopes {
  readonly #running = new Map<string, RunningEnvelope>();

  constructor(private readonly log: ThrottledLog) {}

  get size(): number {
    return this.#running.size;
  }

  /** Returns undefined if the envelope runs already with the same content; the record is then settled with it. */
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

  /** Repeats the step until the store has confirmed it. */
  store(again: StoreAgain): Promise<void> {
    return untilStored(again, this.log, {});
  }

  remove(entry: SeenEntry): void {
    this.#running.delete(entry.id);
  }
}

/**
 * One envelope whose deliveries run, with every record that brought it. All of these records are settled with its last delivery.
 */
export class RunningEnvelope {
  readonly #handles: Handle[];
  readonly #adds: StoreAgain[] = [];
  readonly #parked: string[] = [];
  #unsettled = 0;
  /** Set when its own record was read again: Redis went back and may have lost earlier writes. */
  #isReadAgain = false;

  constructor(
    readonly entry: SeenEntry,
    /** Topic, partition and offset of the record that started it. */
    private readonly origin: string,
    private readonly handle: Handle,
    private readonly collection: Pick<RunningEnvelopes, 'store' | 'remove'>,
  ) {
    this.#handles = [handle];
  }

  /** Adds another record of the envelope: a repeat of the source, or its own record read again. */
  join(origin: string, handle: Handle): void {
    this.#handles.push(handle);
    if (this.origin !== origin) return handle.markDuplicate();
    this.#isReadAgain = true;
    for (const webhookId of this.#parked) handle.park(webhookId);
  }

  /** Remembers that the envelope waits in the log for this webhook. */
  parked(webhookId: string): void {
    this.#parked.push(webhookId);
  }

  /** Sets the number of deliveries; called before the first of them is dispatched. */
  expect(deliveries: number): void {
    this.#unsettled = deliveries;
  }

  /** The delivery of the envelope to one of its webhooks. */
  delivery(webhook: Webhook, record: EnvelopeRecord): Delivery {
    return { webhook, record, settle: (again) => this.#settled(webhook, again) };
  }

  #settled(webhook: Webhook, again: StoreAgain | undefined): void {
    this.#unsettled -= 1;
    if (again !== undefined) this.added(again);
    if (this.#unsettled > 0) this.handle.webhookSettled(this.entry.id, webhook.id);
    else this.settle();
  }

  /** Adds a job or dead letter of the envelope that was stored. */
  added(again: StoreAgain): void {
    this.handle.added(again);
    this.#adds.push(again);
  }

  /** Settles all its records, and first stores its jobs again if its own record was read again meanwhile. */
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

  /** Reports each add to each record at once: Redis may lose it again while the others are stored. */
  async #confirm(again: StoreAgain): Promise<void> {
    await this.collection.store(again);
    for (const handle of this.#handles) handle.added(again);
  }

  #end(): void {
    this.collection.remove(this.entry);
    for (const handle of this.#handles) handle.settled(this.entry);
  }
}
