import { Controller } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import type { EnvelopeRecord, ReadRecord } from '@relay/events';
import type { LogPartition } from '@relay/progress';
import type { Webhook } from '@relay/webhooks';
import { DeliveryDispatcher } from '../delivery/delivery-dispatcher.js';
import { type ChunkPart, LOG_CHUNK, type LogChunk, type RecordHandle } from '../log/log-chunk.js';
import { divideByShard } from './divide-by-shard.js';
import { EnvelopeLookup, type EnvelopeState } from './envelope-lookup.js';
import { Recipients } from './recipients.js';
import { SkippedRecords } from './skipped-records.js';
import type { RunningEnvelope } from './running-envelope.js';
import { RunningEnvelopes } from './running-envelopes.js';

/**
 * Turns records of the log into deliveries: looks up the ids of a chunk, matches webhooks, and dispatches one straight delivery
 * for each. Records are handed out in their order without waiting for earlier ones; `RunningEnvelope` settles each.
 */
@Controller()
export class FanOutConsumer {
  constructor(
    private readonly lookup: EnvelopeLookup,
    private readonly recipients: Recipients,
    private readonly dispatcher: DeliveryDispatcher,
    private readonly running: RunningEnvelopes,
    private readonly rejected: SkippedRecords,
  ) {}

  @EventPattern(LOG_CHUNK)
  async take(@Payload() chunk: LogChunk): Promise<void> {
    const [first] = chunk.parts;
    if (first === undefined) return;
    const { shards } = first.at;
    const records = this.lookup.read(first.at, chunk.records);
    if (shards === undefined) return this.#takePart(first, records);
    const divided = divideByShard(records, shards);
    await Promise.all(chunk.parts.map((part) => this.#takePart(part, divided.get(part.at.shard ?? 0) ?? [])));
  }

  async #takePart(part: ChunkPart, records: readonly ReadRecord[]): Promise<void> {
    const found = await part.answered(this.lookup.find(part, records));
    if (found === undefined) return;
    for (const item of records) {
      const room = this.dispatcher.room();
      if (room !== undefined && (await part.during(room)) === undefined) return;
      const handle = part.accept(item.record);
      if (handle === undefined) continue;
      const started = this.#start(part, item, found.value.get(item) ?? 'open', handle);
      if (started !== undefined && (await part.during(started)) === undefined) return;
    }
    part.ended();
  }

  /** Starts one record; returns a promise if reading must wait for it. Never throws or rejects. */
  #start(part: ChunkPart, item: ReadRecord, state: EnvelopeState, handle: RecordHandle): Promise<void> | undefined {
    if (item.kind === 'poison') return this.rejected.poison(part.at, item, handle);
    try {
      const delivered = this.#deliver(part, item, state, handle);
      return delivered?.catch((error: unknown) => this.#fail(item, handle, error));
    } catch (error) {
      return this.#fail(item, handle, error);
    }
  }

  #deliver(
    part: ChunkPart,
    item: EnvelopeRecord,
    state: EnvelopeState,
    handle: RecordHandle,
  ): Promise<void> | undefined {
    if (state === 'duplicate') return this.rejected.duplicate(item, handle);
    if (state === 'conflict') return this.rejected.conflict(item, handle);
    const { id, contentHash: hash } = item.envelope;
    const running = this.running.find(id);
    const firstHash = running?.entry.hash ?? part.hashOf(id);
    if (firstHash !== undefined && firstHash !== hash) return this.rejected.conflict(item, handle);
    if (firstHash !== undefined && running === undefined) return this.rejected.duplicate(item, handle);
    if (firstHash === undefined && state === 'repeat') return this.#deliverRepeat(part, item, handle);
    if (state === 'nobody') return this.rejected.unaddressed(item, handle);
    const envelope = this.running.start({ id, hash }, part.at, item.record.offset, handle);
    if (envelope === undefined) return this.rejected.repeat(item, handle);
    const webhooks = this.recipients.of(item, handle, envelope);
    return handle.isReadAgain
      ? this.#dispatchAgain(part.at, item, webhooks, handle, envelope)
      : this.#dispatch(item, webhooks, envelope);
  }

  /** Delivers a record whose first record was settled after the look-up: the mark is written by now. */
  async #deliverRepeat(part: ChunkPart, item: EnvelopeRecord, handle: RecordHandle): Promise<void> {
    await this.#deliver(part, item, await this.lookup.findAgain(part.at, item), handle);
  }

  async #dispatchAgain(
    at: LogPartition,
    item: EnvelopeRecord,
    webhooks: readonly Webhook[],
    handle: RecordHandle,
    envelope: RunningEnvelope,
  ): Promise<void> {
    await this.#dispatch(item, await this.recipients.unsettled(at, item, webhooks, handle), envelope);
  }

  #dispatch(record: EnvelopeRecord, webhooks: readonly Webhook[], running: RunningEnvelope): Promise<void> | undefined {
    const [only] = webhooks;
    if (only === undefined) return running.settle();
    running.expect(webhooks.length);
    if (webhooks.length > 1) return this.#dispatchAll(record, webhooks, running);
    this.dispatcher.dispatch({ webhook: only, record, settler: running });
    return undefined;
  }

  /** Dispatches each delivery when there is room, so that an envelope for thousands of webhooks never fills the memory. */
  async #dispatchAll(record: EnvelopeRecord, webhooks: readonly Webhook[], running: RunningEnvelope): Promise<void> {
    for (const webhook of webhooks) {
      const room = this.dispatcher.room();
      if (room !== undefined) await room;
      this.dispatcher.dispatch({ webhook, record, settler: running });
    }
  }

  async #fail(item: EnvelopeRecord, handle: RecordHandle, error: unknown): Promise<void> {
    const entry = { id: item.envelope.id, hash: item.envelope.contentHash };
    const again = await this.rejected.failed(item, error);
    const envelope = this.running.find(entry.id);
    if (envelope?.entry.hash !== entry.hash) {
      handle.added(again);
      handle.settled(entry);
      return;
    }
    envelope.added(again);
    envelope.settle();
  }
}
