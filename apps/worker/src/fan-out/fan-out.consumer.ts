import { Controller, Inject, Injectable } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import { deliveryId } from '@relay/delivery';
import { type EnvelopeRecord, type LogRecord, readRecord, type ReadRecord } from '@relay/events';
import { ClientStore } from '@relay/identity';
import { newJob, untilStored } from '@relay/jobs';
import { type LogPartition, type LookUp, type LookUpResult, PartitionProgress } from '@relay/progress';
import { shardNumber } from '@relay/redis';
import { RetryQueue } from '@relay/retry';
import type { WorkerConfig } from '@relay/settings';
import { ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView, type Webhook } from '@relay/webhooks';
import { DeliveryDispatcher } from '../delivery/delivery-dispatcher.js';
import { type RunningEnvelope, RunningEnvelopes } from './running-envelopes.js';
import { SkippedRecords } from './skipped-records.js';
import { type BatchPart, LOG_CHUNK, type LogChunk } from '../log/batch.js';
import type { PartitionRecord } from '../log/pending-writes.js';
import { ParkingRule } from '../parking/parking-rule.js';
import { WORKER_CONFIG } from '../platform/tokens.js';

/**
 * State of an envelope before its deliveries. `repeat` means that an earlier record of the envelope may still be in flight.
 * `nobody` means that the envelope names only partners that do not exist.
 */
export type EnvelopeState = LookUpResult | 'repeat' | 'nobody';

/** The registrations that decide who gets an envelope: the webhooks, and the partners that exist. */
@Injectable()
export class Registrations {
  /** Partners that were found so far. They need not be looked up again, because clients are never deleted. */
  readonly #partners = new Set<string>();

  constructor(
    @Inject(RedisWebhookView) private readonly webhooks: Pick<RedisWebhookView, 'refreshTo'>,
    @Inject(ClientStore) private readonly clients: Pick<ClientStore, 'find'>,
  ) {}

  refreshTo(version: number): Promise<void> {
    return this.webhooks.refreshTo(version);
  }

  /** Returns the audiences in which no partner exists. Rejects while Redis is unavailable. */
  async strangers(audiences: readonly (readonly string[])[]): Promise<ReadonlySet<readonly string[]>> {
    const found = new Set<readonly string[]>();
    for (const audience of audiences)
      if (audience.length > 0 && !(await this.#hasPartner(audience))) found.add(audience);
    return found;
  }

  async #hasPartner(audience: readonly string[]): Promise<boolean> {
    if (audience.some((id) => this.#partners.has(id))) return true;
    for (const id of audience)
      if (id !== '' && (await this.clients.find(id))?.kind === 'partner') this.#partners.add(id);
    return audience.some((id) => this.#partners.has(id));
  }
}

/** Parses the records of a chunk and looks up their envelopes in Redis. */
@Injectable()
export class EnvelopeLookup {
  constructor(
    @Inject(PartitionProgress) private readonly progress: PartitionProgress,
    @Inject(Registrations) private readonly registrations: Pick<Registrations, 'refreshTo' | 'strangers'>,
    @Inject(WORKER_CONFIG) private readonly config: Pick<WorkerConfig, 'KAFKA_TOPIC_PREFIX'>,
    private readonly running: RunningEnvelopes,
    private readonly log: ThrottledLog,
  ) {}

  read({ topic }: LogPartition, records: readonly LogRecord[]): ReadRecord[] {
    return records.map((record) => readRecord(record, topic, this.config.KAFKA_TOPIC_PREFIX));
  }

  /**
   * Looks up all envelopes of a chunk in one round trip. Then waits until this worker knows the registrations as they were
   * at the time of the look-up.
   */
  async find(part: BatchPart, records: readonly ReadRecord[]): Promise<Map<ReadRecord, EnvelopeState>> {
    const envelopes = records.filter((item) => item.kind === 'envelope');
    const ids = new Set<string>();
    const repeats = new Set(envelopes.filter((item) => this.#isRepeat(part, item, ids)));
    const { results } = await this.#lookUp(part.at, envelopes);
    const strangers = await untilStored(
      () => this.registrations.strangers(envelopes.map(({ envelope }) => envelope.audience)),
      this.log,
      { ...part.at },
    );
    return new Map(
      envelopes.map((item, index) => {
        const result = results[index] as LookUpResult;
        if (result !== 'open') return [item, result];
        return [item, repeats.has(item) ? 'repeat' : strangers.has(item.envelope.audience) ? 'nobody' : result];
      }),
    );
  }

  /** Looks up an envelope again. Its earlier record was in flight at the first look-up, and has been settled since. */
  async findAgain(at: LogPartition, item: EnvelopeRecord): Promise<LookUpResult> {
    const { results } = await this.#lookUp(at, [item]);
    return results[0] as LookUpResult;
  }

  /** @param earlier ids of the previous records of the chunk; this id is added */
  #isRepeat(part: BatchPart, { envelope: { id } }: EnvelopeRecord, earlier: Set<string>): boolean {
    if (earlier.has(id)) return true;
    earlier.add(id);
    return this.running.find(id) !== undefined || part.hashOf(id) !== undefined;
  }

  #lookUp(at: LogPartition, items: readonly EnvelopeRecord[]): Promise<LookUp> {
    const entries = items.map(({ envelope }) => ({ id: envelope.id, hash: envelope.contentHash }));
    return untilStored(
      async () => {
        const found = await this.progress.lookUp(at, entries);
        await this.registrations.refreshTo(found.registryVersion);
        return found;
      },
      this.log,
      { ...at },
    );
  }
}

/** Decides which webhooks get an envelope now, and for which webhooks it waits in the log. */
@Injectable()
export class Recipients {
  constructor(
    @Inject(RedisWebhookView) private readonly webhooks: Pick<RedisWebhookView, 'matching'>,
    @Inject(ParkingRule) private readonly parking: Pick<ParkingRule, 'isDue' | 'notice'>,
    @Inject(PartitionProgress) private readonly progress: Pick<PartitionProgress, 'partials'>,
    @Inject(RetryQueue) private readonly queue: Pick<RetryQueue, 'existing' | 'add'>,
    private readonly log: ThrottledLog,
  ) {}

  /**
   * Returns the webhooks that get the record now, and parks the others. Must be called while the record is being dispatched,
   * because the range of a newly parked webhook begins at its offset. If the record is read again, only disabled webhooks
   * are parked, because any other webhook may already have got it.
   */
  of(
    { envelope: { type, audience } }: EnvelopeRecord,
    handle: PartitionRecord,
    running: RunningEnvelope,
  ): readonly Webhook[] {
    return this.webhooks.matching(type, audience).filter((webhook) => {
      const mayPark = !handle.isReadAgain || webhook.status === 'disabled';
      if (mayPark && !handle.isParked(webhook.id) && this.parking.isDue(webhook))
        handle.park(webhook.id, this.parking.notice(webhook));
      if (!handle.isParked(webhook.id)) return true;
      running.parked(webhook.id);
      return false;
    });
  }

  /**
   * Returns the webhooks that still need the record when it is read again after a crash. These are the webhooks without a
   * mark, a job or a dead letter for this record. If a job exists, it is registered to be stored again with the next flush.
   * The job may have been stored by another worker that has lost the partition without knowing it yet.
   */
  async unsettled(
    at: LogPartition,
    item: EnvelopeRecord,
    webhooks: readonly Webhook[],
    handle: PartitionRecord,
  ): Promise<readonly Webhook[]> {
    const { acceptedAt, envelope } = item;
    const { id: envelopeId, contentHash: hash } = envelope;
    const idOf = ({ id: webhookId }: Webhook): string =>
      deliveryId({ webhookId, envelopeId, hash, series: 0, acceptedAt });
    return untilStored(
      async () => {
        const marked = (await this.progress.partials(at, [envelopeId])).get(envelopeId);
        handle.marked({ id: envelopeId, webhookIds: [...(marked ?? [])] });
        const unmarked = webhooks.filter((webhook) => marked?.has(webhook.id) !== true);
        const queued = await this.queue.existing(unmarked.map(idOf));
        for (const webhook of unmarked)
          if (queued.has(idOf(webhook)))
            handle.added(() => this.queue.add({ job: newJob(webhook, item), at: Date.now() }));
        return unmarked.filter((webhook) => !queued.has(idOf(webhook)));
      },
      this.log,
      { ...at, envelopeId },
    );
  }
}

/**
 * Turns records of the log into deliveries: looks up the envelopes of a chunk, matches them with webhooks, and dispatches
 * one delivery for each webhook. Records are dispatched in their order, without waiting until earlier records are settled.
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

  async #takePart(part: BatchPart, records: readonly ReadRecord[]): Promise<void> {
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

  /** Starts one record. Returns a promise if reading must wait for the record. Never throws or rejects. */
  #start(part: BatchPart, item: ReadRecord, state: EnvelopeState, handle: PartitionRecord): Promise<void> | undefined {
    if (item.kind === 'poison') return this.rejected.poison(part.at, item, handle);
    try {
      const delivered = this.#deliver(part, item, state, handle);
      return delivered?.catch((error: unknown) => this.#fail(item, handle, error));
    } catch (error) {
      return this.#fail(item, handle, error);
    }
  }

  #deliver(
    part: BatchPart,
    item: EnvelopeRecord,
    state: EnvelopeState,
    handle: PartitionRecord,
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

  /**
   * Delivers a repeat whose earlier record was settled after the look-up. The mark of that record has been written by now.
   */
  async #deliverRepeat(part: BatchPart, item: EnvelopeRecord, handle: PartitionRecord): Promise<void> {
    await this.#deliver(part, item, await this.lookup.findAgain(part.at, item), handle);
  }

  async #dispatchAgain(
    at: LogPartition,
    item: EnvelopeRecord,
    webhooks: readonly Webhook[],
    handle: PartitionRecord,
    envelope: RunningEnvelope,
  ): Promise<void> {
    await this.#dispatch(item, await this.recipients.unsettled(at, item, webhooks, handle), envelope);
  }

  #dispatch(record: EnvelopeRecord, webhooks: readonly Webhook[], running: RunningEnvelope): Promise<void> | undefined {
    const [only] = webhooks;
    if (only === undefined) return running.settle();
    running.expect(webhooks.length);
    if (webhooks.length > 1) return this.#dispatchAll(record, webhooks, running);
    this.dispatcher.dispatch(running.delivery(only, record));
    return undefined;
  }

  /**
   * Dispatches the deliveries one by one as there is room, so that an envelope for thousands of webhooks needs little
   * memory.
   */
  async #dispatchAll(record: EnvelopeRecord, webhooks: readonly Webhook[], running: RunningEnvelope): Promise<void> {
    for (const webhook of webhooks) {
      const room = this.dispatcher.room();
      if (room !== undefined) await room;
      this.dispatcher.dispatch(running.delivery(webhook, record));
    }
  }

  async #fail(item: EnvelopeRecord, handle: PartitionRecord, error: unknown): Promise<void> {
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

/** Groups records by shard and keeps their order. A record that is not an envelope belongs to shard 0. */
function divideByShard(records: readonly ReadRecord[], shards: number): ReadonlyMap<number, readonly ReadRecord[]> {
  const divided = new Map<number, ReadRecord[]>();
  for (const item of records) {
    const shard = item.kind === 'envelope' ? shardNumber(item.envelope.id, shards) : 0;
    const own = divided.get(shard);
    if (own === undefined) divided.set(shard, [item]);
    else own.push(item);
  }
  return divided;
}
