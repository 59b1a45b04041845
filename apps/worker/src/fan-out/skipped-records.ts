import { Inject, Injectable } from '@nestjs/common';
import { RejectedRecords } from '@relay/dead-letters';
import { RepeatCounter } from '@relay/dedupe';
import type { EnvelopeRecord, ReadRecord } from '@relay/events';
import type { LogPartition } from '@relay/progress';
import { Publisher } from '@relay/publishing';
import { RetryQueue } from '@relay/retry';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import type { PartitionRecord, StoreAgain } from '../log/pending-writes.js';
import { DeliveryMetrics } from '../metrics/delivery-metrics.js';

/** Maximum of rejected records that are being stored. Above it, the reading of the log waits. */
const MAX_PENDING = 100;

/**
 * Settles records that are not delivered: repeats, conflicts, records that are no envelopes, envelopes whose partners do not
 * exist, and envelopes whose processing failed.
 */
@Injectable()
export class SkippedRecords {
  readonly #rejectedRecords: RejectedRecords;
  #pending = 0;

  constructor(
    @Inject(Publisher) publisher: Publisher,
    @Inject(RetryQueue) queue: RetryQueue,
    log: ThrottledLog,
    private readonly metrics: DeliveryMetrics,
    @Inject(RepeatCounter) private readonly repeats: Pick<RepeatCounter, 'count'>,
  ) {
    this.#rejectedRecords = new RejectedRecords(publisher, queue, log, (type, reason) => metrics.ended(type, reason));
  }

  /** Counts a repeat of an envelope that is in flight. The record is settled together with the envelope. */
  repeat(item: EnvelopeRecord, handle: PartitionRecord): undefined {
    this.#count(item, handle, 'duplicate');
    this.metrics.duplicate();
  }

  duplicate(item: EnvelopeRecord, handle: PartitionRecord): undefined {
    this.#count(item, handle, 'duplicate');
    handle.markDuplicate();
    this.metrics.duplicate();
    handle.settled();
  }

  /**
   * Rejects a record that is no envelope.
   * @returns a promise that reading must wait for; undefined if few writes are pending
   */
  poison(at: LogPartition, item: ReadRecord & { kind: 'poison' }, handle: PartitionRecord): Promise<void> | undefined {
    return this.#bounded(this.#rejectedRecords.poison(at, item.record, item.reason).then(() => handle.settled()));
  }

  /** Turns an envelope that reuses an id with other content into a dead letter. @returns same as `poison` */
  conflict(item: EnvelopeRecord, handle: PartitionRecord): Promise<void> | undefined {
    return this.#bounded(this.#conflict(item, handle));
  }

  /** Turns an envelope into a dead letter because none of its partners exists. @returns same as `poison` */
  unaddressed(item: EnvelopeRecord, handle: PartitionRecord): Promise<void> | undefined {
    return this.#bounded(this.#unaddressed(item, handle));
  }

  /** Turns an envelope into a dead letter after an internal error, so that operators see it and reading can continue. */
  failed(item: EnvelopeRecord, error: unknown): Promise<StoreAgain> {
    return this.#rejectedRecords.addDeadLetter(item, 'handling_failed', reasonOf(error));
  }

  /**
   * Counts a repeat or conflict. A record that is read again is not counted, because it was counted before or may be the
   * first record of its envelope.
   */
  #count({ envelope: { id } }: EnvelopeRecord, { isReadAgain }: PartitionRecord, kind: 'duplicate' | 'conflict'): void {
    if (!isReadAgain) this.repeats.count(id, kind);
  }

  async #conflict(item: EnvelopeRecord, handle: PartitionRecord): Promise<void> {
    this.#count(item, handle, 'conflict');
    handle.markDuplicate();
    handle.added(
      await this.#rejectedRecords.addDeadLetter(item, 'id_conflict', 'the id was used before with other content'),
    );
    handle.settled();
  }

  async #unaddressed(item: EnvelopeRecord, handle: PartitionRecord): Promise<void> {
    const { id, contentHash: hash, audience } = item.envelope;
    const named = audience.filter((partner) => partner !== '').join(', ');
    const detail = named === '' ? 'relay-partner names nobody' : `no such partner: ${named}`;
    handle.added(await this.#rejectedRecords.addDeadLetter(item, 'audience_unknown', detail));
    handle.settled({ id, hash });
  }

  #bounded(stored: Promise<void>): Promise<void> | undefined {
    this.#pending += 1;
    const end = stored.finally(() => (this.#pending -= 1));
    return this.#pending > MAX_PENDING ? end : void end;
  }
}
