import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { topicOf } from '@relay/events';
import { Notices } from '@relay/notices';
import { readRangeKey } from '@relay/progress';
import { Replays, type ReplayStatus } from '@relay/replays';
import type { WorkerConfig } from '@relay/settings';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView } from '@relay/webhooks';
import type { CatchUpPartition } from '../log/catch-up-partition.js';
import { LogReader } from '../log/log-reader.js';
import { WORKER_CONFIG } from '../platform/tokens.js';

const LOOK_MS = 1_000;
/**
 * Every tenth check also compares recently ended replays with the shards, because a shard may have lost its latest writes.
 */
const ENDED_EVERY = 10;

const NONE: ReadonlyMap<string, string> = new Map();

type Orders = Pick<Replays, 'orders' | 'ended' | 'rangesOf' | 'resumeEnded' | 'endDone'>;

/**
 * Starts, pauses and cancels replays in the partitions that this worker reads. A partner or operator orders a replay, and
 * Redis keeps its order, which lists the ranges of the log to deliver again, until the replay has ended.
 */
@Injectable()
export class ReplayOrders implements OnApplicationBootstrap, OnModuleDestroy {
  #paused: ReadonlySet<string> = new Set();
  #timer: NodeJS.Timeout | undefined;
  #looking = false;
  #looks = 0;

  constructor(
    @Inject(Replays) private readonly orders: Orders,
    @Inject(LogReader) private readonly reader: Pick<LogReader, 'catchUpPartitions'>,
    @Inject(RedisWebhookView) private readonly webhooks: Pick<RedisWebhookView, 'find'>,
    @Inject(WORKER_CONFIG) private readonly config: Pick<WorkerConfig, 'KAFKA_TOPIC_PREFIX'>,
    private readonly log: ThrottledLog,
  ) {}

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => void this.look(), LOOK_MS).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.#timer);
  }

  isPaused(key: string): boolean {
    return this.#paused.has(key);
  }

  async look(): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      await this.#look();
    } catch (error) {
      this.#unread(error);
    } finally {
      this.#looking = false;
    }
  }

  #unread(error: unknown): void {
    this.log.warn('replay.waiting', 'The worker cannot read ordered replays from Redis; running replays continue', {
      reason: reasonOf(error),
    });
  }

  async #look(): Promise<void> {
    // The known replays are read before the orders. If a known replay has no order, it has therefore ended or was cancelled;
    // its order cannot be newer than the orders that were read.
    const partitions = this.reader.catchUpPartitions().map((partition) => ({ partition, known: partition.replayKeys }));
    const { keys, paused } = await this.orders.orders();
    this.#paused = paused;
    const isGone = partitions.some(({ known }) => known.some((key) => !keys.has(key)));
    const ended = isGone || this.#looks % ENDED_EVERY === 0 ? await this.orders.ended() : NONE;
    this.#looks += 1;
    for (const { partition, known } of partitions) {
      const gone = known.filter((key) => !keys.has(key));
      for (const key of gone) if (!ended.has(key)) partition.forget(key);
      const asked = [...keys, ...ended.keys()].filter((key) => this.#isIn(partition, key));
      const unknown = asked.filter((key) => gone.includes(key) || !partition.isKnownReplay(key));
      const endedId = (key: string): string | undefined => (keys.has(key) ? undefined : ended.get(key));
      // If one shard does not answer, the partitions of the other shards continue.
      await this.#takeUp(partition, unknown, endedId).catch((error: unknown) => this.#unread(error));
    }
    const done = [...keys].filter((key) => this.#isDone(key));
    if (done.length > 0) await this.orders.endDone(done);
  }

  /** @param endedId returns the id of a replay that has ended, or undefined for a replay that runs or is paused */
  async #takeUp(
    partition: CatchUpPartition,
    keys: readonly string[],
    endedId: (key: string) => string | undefined,
  ): Promise<void> {
    const found = await this.orders.rangesOf(partition.at, keys);
    for (const [key, { ranges, counts }] of found) {
      const id = endedId(key);
      if (id === undefined || ranges.length === 0 || (await this.orders.resumeEnded(key, id)))
        partition.replay(key, ranges, counts);
      else partition.forget(key);
    }
  }

  /** Whether this worker reads partitions that can have records of the replay, and has delivered all of its ranges there. */
  #isDone(key: string): boolean {
    const partitions = this.reader.catchUpPartitions().filter((partition) => this.#isIn(partition, key));
    const isLeft = (partition: CatchUpPartition): boolean =>
      !partition.isKnownReplay(key) || partition.replayKeys.includes(key);
    return partitions.length > 0 && !partitions.some(isLeft);
  }

  /** Whether the partition can have records of the replay. */
  #isIn({ at: { topic } }: CatchUpPartition, key: string): boolean {
    return (this.#topicOf(key) ?? topic) === topic;
  }

  /** Returns undefined if this worker does not know the webhook of the replay. */
  #topicOf(key: string): string | undefined {
    const type = this.webhooks.find(readRangeKey(key).webhookId)?.eventType;
    return type === undefined ? undefined : topicOf(this.config.KAFKA_TOPIC_PREFIX, type);
  }
}

const WATCH_MS = 2_000;
const HOUR_MS = 3_600_000;
/**
 * Maximum number of the newest replays that a check reads. They include replays that ended between two checks or while no
 * worker ran.
 */
const NEWEST = 100;
/**
 * Upper bound in ms of the difference between the clock of this process and the clock of the process that accepted the
 * order.
 */
const CLOCKS_DIFFER_MS = 60_000;

/**
 * Notifies partners of replays that have ended. Any worker can end a replay, so every worker checks all replays. The id of a
 * notice contains the time of the end, so the notices of all workers about one replay have the same id.
 */
@Injectable()
export class ReplayWatch implements OnApplicationBootstrap, OnModuleDestroy {
  /** Ids of the replays that were in progress at the last check. */
  #underWay: ReadonlySet<string> = new Set();
  /** Ids of the ended replays of the last check. Their partners were notified. */
  #told: ReadonlySet<string> = new Set();
  #lookedAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #looking = false;

  constructor(
    @Inject(Replays) private readonly replays: Pick<Replays, 'idsUnderWay' | 'find' | 'newest'>,
    @Inject(RedisWebhookView) private readonly webhooks: Pick<RedisWebhookView, 'find'>,
    @Inject(Notices) private readonly notices: Pick<Notices, 'tell'>,
    private readonly log: ThrottledLog,
  ) {}

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => void this.look(Date.now()), WATCH_MS).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.#timer);
  }

  async look(now: number): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      const underWay = new Set(await this.replays.idsUnderWay());
      const ended = await this.#ended(underWay, now);
      for (const replay of ended) if (!this.#told.has(replay.id)) this.#tell(replay);
      this.#told = new Set(ended.map(({ id }) => id));
      [this.#underWay, this.#lookedAt] = [underWay, now];
    } catch (error) {
      this.log.warn('replay.waiting', 'The worker cannot read ordered replays from Redis; running replays continue', {
        reason: reasonOf(error),
      });
    } finally {
      this.#looking = false;
    }
  }

  async #ended(underWay: ReadonlySet<string>, now: number): Promise<ReplayStatus[]> {
    const newest = await this.replays.newest(Math.max(0, this.#lookedAt - CLOCKS_DIFFER_MS), NEWEST, now);
    const gone = [...this.#underWay].filter((id) => !underWay.has(id) && !newest.some((replay) => replay.id === id));
    const found = await Promise.all(gone.map((id) => this.replays.find(id, now)));
    const known = [...newest, ...found].filter((replay) => replay !== undefined);
    return known.filter(({ endedAt = 0 }) => endedAt > now - HOUR_MS);
  }

  #tell({ id: replayId, webhookId, state, matched, done, failed, endedAt }: ReplayStatus): void {
    const webhook = this.webhooks.find(webhookId);
    if (webhook === undefined || (state !== 'done' && state !== 'cancelled')) return;
    void this.notices.tell('replay.finished', webhook, { replayId, state, matched, done, failed }, endedAt);
  }
}
