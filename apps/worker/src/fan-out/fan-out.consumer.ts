import { deliveryId } from '@relay/delivery';
import { Controller, Inject } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import type { SeenEntry } from '@relay/dedupe';
import { PartitionProgress, type LogPartition, type Reservation, type Verdict } from '@relay/progress';
import { readRecord, type EnvelopeRecord, type ReadRecord } from '@relay/events';
import { newJob, RetryQueue, untilStored } from '@relay/retry';
import { reasonOf } from '@relay/telemetry';
import { RedisWebhookView, type Webhook } from '@relay/webhooks';
import { DeliveryDispatcher } from '../delivery/delivery-dispatcher.js';
import { LOG_CHUNK, type LogChunk, type RecordHandle } from '../log/log-chunk.js';
import { FanOutTools } from './fan-out-tools.js';
import { RunningEnvelopes } from './running-envelopes.js';

/** Records that are put aside at once, as no envelopes or as conflicts. */
const MAX_ASIDE = 100;

/**
 * Turns records of the log into deliveries: seen before? which webhooks? then a straight attempt for each. Hands records
 * out in their order without waiting for earlier ones; each tells its ticket when all of it is settled.
 */
@Controller()
export class FanOutConsumer {
  /** Records on their way to the dead letters. */
  #aside = 0;
  readonly #running = new RunningEnvelopes((add) => untilStored(add, this.tools.log, {}));

  constructor(
    @Inject(PartitionProgress) private readonly progress: PartitionProgress,
    @Inject(RedisWebhookView) private readonly webhooks: Pick<RedisWebhookView, 'refreshTo' | 'matching'>,
    @Inject(DeliveryDispatcher) private readonly courier: DeliveryDispatcher,
    @Inject(RetryQueue) private readonly queue: RetryQueue,
    @Inject(FanOutTools) private readonly tools: FanOutTools,
  ) {}

  @EventPattern(LOG_CHUNK)
  async take(@Payload() chunk: LogChunk): Promise<void> {
    const read = chunk.records.map((record) => readRecord(record, chunk.at.topic, this.tools.topicPrefix));
    const envelopes = read.filter((item) => item.kind === 'envelope');
    let verdicts: Map<EnvelopeRecord, Verdict> | undefined;
    const pause = this.tools.pause.end();
    if (pause !== undefined && !(await chunk.during(pause))) return;
    const prepared = this.#prepare(chunk.at, envelopes).then((result) => (verdicts = result));
    if (!(await chunk.during(prepared)) || verdicts === undefined) return;
    for (const item of read) {
      const room = this.courier.room();
      if (room !== undefined && !(await chunk.during(room))) return;
      const ticket = chunk.accept(item.record);
      if (ticket === undefined) continue;
      const expansion = this.#start(chunk, item, verdicts, ticket);
      if (expansion !== undefined && !(await chunk.during(expansion))) return;
    }
  }

  /** One round trip reserves the chunk's ids; nothing is matched before the registrations of that moment are known. */
  async #prepare(at: LogPartition, envelopes: EnvelopeRecord[]): Promise<Map<EnvelopeRecord, Verdict>> {
    const entries = envelopes.map(({ envelope }) => ({ id: envelope.id, hash: envelope.contentHash }));
    const reservation = await untilStored(
      async (): Promise<Reservation> => {
        const found = await this.progress.reserve(entries);
        await this.webhooks.refreshTo(found.registryVersion);
        return found;
      },
      this.tools.log,
      { ...at },
    );
    return new Map(envelopes.map((item, index) => [item, reservation.verdicts[index] as Verdict]));
  }

  /** Starts one record; a promise when its webhooks are so many that they are started as room comes. */
  #start(
    chunk: LogChunk,
    item: ReadRecord,
    verdicts: Map<EnvelopeRecord, Verdict>,
    ticket: RecordHandle,
  ): Promise<void> | undefined {
    if (item.kind === 'poison') {
      const { undeliverable } = this.tools;
      return this.#putAside(undeliverable.poison(chunk.at, item.record, item.reason).then(() => ticket.settled()));
    }
    try {
      const expansion = this.#deliver(chunk, item, verdicts.get(item) ?? 'new', ticket);
      return expansion?.catch((error: unknown) => this.#fail(item, ticket, error));
    } catch (error) {
      return this.#fail(item, ticket, error);
    }
  }

  #deliver(chunk: LogChunk, item: EnvelopeRecord, verdict: Verdict, ticket: RecordHandle): Promise<void> | undefined {
    const { id, contentHash: hash, type, audience } = item.envelope;
    const entry = { id, hash };
    switch (verdict) {
      case 'duplicate':
        return this.#duplicate(ticket);
      case 'conflict':
        return this.#putAside(this.#conflict(item, ticket));
      case 'new':
      case 'again': {
        if (verdict === 'again' && chunk.isSettled(entry)) return this.#duplicate(ticket);
        const begun = this.#running.start(entry, chunk.at, item.record.offset, ticket);
        if (begun !== 'new') {
          this.tools.metrics.duplicate();
          return undefined;
        }
        const webhooks = this.#notParked(entry, this.webhooks.matching(type, audience), verdict, ticket);
        return verdict === 'new'
          ? this.#expand(item, webhooks, ticket)
          : this.#expandAgain(chunk.at, item, webhooks, ticket);
      }
      default:
        return verdict satisfies never;
    }
  }

  /**
   * Decided at once, while the record is being handed out: what waits in the log for a webhook is a range of offsets. A
   * record that is read again begins one only where its webhook may not be called at all: it may have got it already.
   */
  #notParked(
    entry: SeenEntry,
    webhooks: readonly Webhook[],
    verdict: 'new' | 'again',
    ticket: RecordHandle,
  ): readonly Webhook[] {
    return webhooks.filter((webhook) => {
      const mayPark = verdict === 'new' || webhook.status === 'disabled';
      if (mayPark && !ticket.isParked(webhook.id) && this.tools.parking.isDue(webhook)) ticket.park(webhook.id);
      if (!ticket.isParked(webhook.id)) return true;
      this.#running.parked(entry, webhook.id);
      return false;
    });
  }

  /** Undefined while few are under way; else its end, so that reading waits while nobody stores them. */
  #putAside(stored: Promise<void>): Promise<void> | undefined {
    this.#aside += 1;
    const end = stored.finally(() => (this.#aside -= 1));
    return this.#aside > MAX_ASIDE ? end : void end;
  }

  async #conflict(item: EnvelopeRecord, ticket: RecordHandle): Promise<void> {
    ticket.dropped();
    const { undeliverable } = this.tools;
    ticket.added(await undeliverable.bury(item, 'id_conflict', 'the id was used before with other content'));
    ticket.settled();
  }

  #duplicate(ticket: RecordHandle): undefined {
    ticket.dropped();
    this.tools.metrics.duplicate();
    ticket.settled();
  }

  /**
   * A re-read after a crash: webhooks that are marked or have their job are left out. Such a job may be newer than our
   * ownership (a worker that has lost the partition but does not know), so it is repeated like one of ours. It may also be a repeat whose
   * chunk was looked up before the mark of the first was written; that one is written by now.
   */
  async #expandAgain(
    at: LogPartition,
    item: EnvelopeRecord,
    webhooks: readonly Webhook[],
    ticket: RecordHandle,
  ): Promise<void> {
    const { id: envelopeId, contentHash: hash } = item.envelope;
    const idOf = (webhook: Webhook): string => deliveryId({ webhookId: webhook.id, envelopeId, hash, series: 0 });
    const left = await untilStored(
      async () => {
        const [verdict] = (await this.progress.reserve([{ id: envelopeId, hash }])).verdicts;
        if (verdict === 'duplicate') {
          ticket.dropped();
          return [];
        }
        const marked = (await this.progress.partials(at, [envelopeId])).get(envelopeId);
        ticket.marked({ id: envelopeId, webhookIds: [...(marked ?? [])] });
        const unmarked = webhooks.filter((webhook) => marked?.has(webhook.id) !== true);
        const queued = await this.queue.existing(unmarked.map(idOf));
        for (const webhook of unmarked)
          if (queued.has(idOf(webhook)))
            ticket.added(() => this.queue.add({ job: newJob(webhook, item), at: Date.now() }));
        return unmarked.filter((webhook) => !queued.has(idOf(webhook)));
      },
      this.tools.log,
      { ...at, envelopeId },
    );
    await this.#expand(item, left, ticket);
  }

  #expand(item: EnvelopeRecord, webhooks: readonly Webhook[], ticket: RecordHandle): Promise<void> | undefined {
    const { id, contentHash: hash } = item.envelope;
    const entry = { id, hash };
    let left = webhooks.length;
    if (left === 0) {
      this.#running.settle(entry);
      return undefined;
    }
    const dispatch = (webhook: Webhook): void =>
      this.courier.dispatch({
        webhook,
        record: item,
        settled: (repeat) => {
          left -= 1;
          if (repeat !== undefined) {
            ticket.added(repeat);
            this.#running.added(entry, repeat);
          }
          if (left > 0) ticket.partially(id, webhook.id);
          else this.#running.settle(entry);
        },
      });
    const [only] = webhooks;
    if (webhooks.length === 1 && only !== undefined) {
      dispatch(only);
      return undefined;
    }
    return this.#inSlices(webhooks, dispatch);
  }

  /** Lazily, so that an envelope for thousands of webhooks passes in slices and never fills the memory. */
  async #inSlices(webhooks: readonly Webhook[], dispatch: (webhook: Webhook) => void): Promise<void> {
    for (const webhook of webhooks) {
      const room = this.courier.room();
      if (room !== undefined) await room;
      dispatch(webhook);
    }
  }

  /** A fault of ours on an accepted envelope: it becomes a dead letter that the list shows, and reading goes on. */
  async #fail(item: EnvelopeRecord, ticket: RecordHandle, error: unknown): Promise<void> {
    const entry = { id: item.envelope.id, hash: item.envelope.contentHash };
    const repeat = await this.tools.undeliverable.bury(item, 'handling_failed', reasonOf(error));
    ticket.added(repeat);
    this.#running.added(entry, repeat);
    if (!this.#running.settle(entry)) ticket.settled(entry);
  }
}
