import type { SeenEntry } from '@relay/dedupe';
import type { Webhook } from '@relay/webhooks';
import type { RecordHandle, StoreAgain } from '../log/log-chunk.js';
import type { DeliverySettler } from '../delivery/straight-delivery.js';

/** The collection of running envelopes, as one of them needs it. */
export interface RunningCollection {
  /** Repeats the step until the store has confirmed it. */
  store(again: StoreAgain): Promise<void>;
  remove(entry: SeenEntry): void;
}

/**
 * One envelope whose deliveries run, with every record that brought it. All of these records are settled with its last delivery.
 */
export class RunningEnvelope implements DeliverySettler {
  readonly #handles: RecordHandle[];
  readonly #adds: StoreAgain[] = [];
  readonly #parked: string[] = [];
  #unsettled = 0;
  /** Set when its own record was read again: Redis went back and may have lost earlier writes. */
  #isReadAgain = false;

  constructor(
    readonly entry: SeenEntry,
    /** Topic, partition and offset of the record that started it. */
    private readonly origin: string,
    private readonly handle: RecordHandle,
    private readonly collection: RunningCollection,
  ) {
    this.#handles = [handle];
  }

  /** Adds another record of the envelope: a repeat of the source, or its own record read again. */
  join(origin: string, handle: RecordHandle): void {
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

  settled(webhook: Webhook, again?: StoreAgain): void {
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
