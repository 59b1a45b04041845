import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { topicOf, type EnvelopeType } from '@relay/events';
import { readRangeKey } from '@relay/progress';
import { Replays } from '@relay/replays';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView } from '@relay/webhooks';
import { LogReader } from '../log/log-reader.js';
import { WORKER_CONFIG } from '../platform/tokens.js';
import type { WorkerConfig } from '@relay/settings';

const LOOK_MS = 1_000;

/** Takes up the replays that partners and operators order, in the partitions of this worker; pauses and cancels them. */
@Injectable()
export class ReplayOrders implements OnApplicationBootstrap, OnModuleDestroy {
  #paused: ReadonlySet<string> = new Set();
  #timer: NodeJS.Timeout | undefined;
  #looking = false;

  constructor(
    @Inject(Replays) private readonly orders: Pick<Replays, 'orders' | 'rangesOf'>,
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
      this.log.warn('replay.waiting', 'The worker cannot read ordered replays from Redis; running replays continue', {
        reason: reasonOf(error),
      });
    } finally {
      this.#looking = false;
    }
  }

  async #look(): Promise<void> {
    // Read before the orders are: a known replay without an order was cancelled, and is not newer than the orders.
    const partitions = this.reader.catchUpPartitions().map((partition) => ({ partition, known: partition.replayKeys }));
    const { keys, paused } = await this.orders.orders();
    this.#paused = paused;
    for (const { partition, known } of partitions) {
      for (const key of known) if (!keys.has(key)) partition.forget(key);
      const { topic } = partition.at;
      const unknown = [...keys].filter(
        (key) => !partition.isKnownReplay(key) && (this.#topicOf(key) ?? topic) === topic,
      );
      const found = await this.orders.rangesOf(partition.at, unknown);
      for (const [key, { ranges, counts }] of found) partition.replay(key, ranges, counts);
    }
  }

  /** Undefined when the replay's webhook is not known here. */
  #topicOf(key: string): string | undefined {
    const type = this.webhooks.find(readRangeKey(key).webhookId)?.eventType;
    return type === undefined ? undefined : topicOf(this.config.KAFKA_TOPIC_PREFIX, type as EnvelopeType);
  }
}
