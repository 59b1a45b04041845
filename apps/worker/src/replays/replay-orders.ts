import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { topicOf, type EnvelopeType } from '@relay/events';
import { readRangeKey } from '@relay/progress';
import { Replays } from '@relay/replays';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView } from '@relay/webhooks';
import type { CatchUpPartition } from '../log/catch-up-partition.js';
import { LogReader } from '../log/log-reader.js';
import { WORKER_CONFIG } from '../platform/tokens.js';
import type { WorkerConfig } from '@relay/settings';

const LOOK_MS = 1_000;
/** Looks after which replays that ended lately are compared with the shards, because a shard may have gone back. */
const ENDED_EVERY = 10;

const NONE: ReadonlyMap<string, string> = new Map();

type Orders = Pick<Replays, 'orders' | 'ended' | 'rangesOf' | 'resumeEnded' | 'endDone'>;

/** Takes up the replays that partners and operators order, in the partitions of this worker; pauses and cancels them. */
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
    // Read before the orders, so that a known replay without an order was cancelled and is not newer than the orders.
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
      // The shard may be away while others are not.
      await this.#takeUp(partition, unknown, endedId).catch((error: unknown) => this.#unread(error));
    }
    const done = [...keys].filter((key) => this.#isDone(key));
    if (done.length > 0) await this.orders.endDone(done);
  }

  /** @param endedId returns the id of a replay that has ended */
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

  /** Whether this worker reads partitions of the replay, and knows of no range that is left there. */
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

  /** Returns undefined if the replay's webhook is not known here. */
  #topicOf(key: string): string | undefined {
    const type = this.webhooks.find(readRangeKey(key).webhookId)?.eventType;
    return type === undefined ? undefined : topicOf(this.config.KAFKA_TOPIC_PREFIX, type as EnvelopeType);
  }
}
