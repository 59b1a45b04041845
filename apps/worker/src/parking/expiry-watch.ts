import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import type { LogPartition } from '@relay/progress';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView, type Webhook } from '@relay/webhooks';
import type { CatchUpPartition } from '../log/catch-up-partition.js';
import { LogArchive } from '../log/log-archive.adapter.js';
import { LogReader } from '../log/log-reader.js';
import { dropExpired } from './expired-ranges.js';
import { RetentionReports } from './retention-reports.js';

/** Delay in ms of the first look: by then a worker that starts owns its partitions. */
const FIRST_LOOK_MS = 60_000;
const LOOK_MS = 3_600_000;
const DAY_MS = 86_400_000;
const WARN_BEFORE_MS = 2 * DAY_MS;

/**
 * Warns two days before the retention of a topic overtakes the backlog of a parked webhook, once a day, and reports when it has.
 * The catch-up does not notice it for a disabled webhook, which is not caught up.
 */
@Injectable()
export class ExpiryWatch implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #warnedAt = new Map<string, number>();
  /** Time of the oldest waiting record, in epoch milliseconds, as of the last look. */
  readonly #oldest = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(
    @Inject(LogReader) private readonly reader: Pick<LogReader, 'catchUpPartitions'>,
    @Inject(RedisWebhookView) private readonly webhooks: Pick<RedisWebhookView, 'find'>,
    @Inject(LogArchive) private readonly archive: Pick<LogArchive, 'lowest' | 'recordAt' | 'retentionMs'>,
    @Inject(RetentionReports) private readonly reports: Pick<RetentionReports, 'expiring' | 'expired'>,
    private readonly log: ThrottledLog,
  ) {}

  onApplicationBootstrap(): void {
    this.#lookIn(FIRST_LOOK_MS);
  }

  #lookIn(ms: number): void {
    this.#timer = setTimeout(() => {
      void this.look(Date.now());
      this.#lookIn(LOOK_MS);
    }, ms).unref();
  }

  onModuleDestroy(): void {
    clearTimeout(this.#timer);
  }

  /** Returns the age of the oldest record that waits for a parked webhook, as of the last look. */
  oldestAgeMs(now: number): number {
    const since = (name: string): number => this.#oldest.get(name) ?? now;
    return now - this.#names().reduce((oldest, name) => Math.min(oldest, since(name)), now);
  }

  async look(now: number): Promise<void> {
    for (const partition of this.reader.catchUpPartitions())
      if (this.#waiting(partition).length > 0)
        await this.#lookAt(partition, now).catch((error: unknown) => this.#unread(partition.at, error));
    const names = new Set(this.#names());
    for (const name of this.#oldest.keys()) if (!names.has(name)) this.#oldest.delete(name);
  }

  async #lookAt(partition: CatchUpPartition, now: number): Promise<void> {
    const lowest = await this.archive.lowest(partition.at);
    for (const { webhook } of this.#waiting(partition)) {
      const records = dropExpired(partition, webhook.id, lowest);
      if (records > 0) this.reports.expired(webhook, partition.at, records);
    }
    const times = new Map<number, Promise<number | undefined>>();
    for (const { webhook, name, from } of this.#waiting(partition)) {
      const reading = times.get(from) ?? this.#timeOf(partition.at, from);
      times.set(from, reading);
      const oldest = await reading;
      if (oldest === undefined) continue;
      this.#oldest.set(name, oldest);
      this.#judge(webhook, partition.at, name, oldest, now);
    }
  }

  /** Returns the webhooks with a backlog, and the offset at which it begins. */
  #waiting(partition: CatchUpPartition): { webhook: Webhook; name: string; from: number }[] {
    return partition.webhookIds.flatMap((webhookId) => {
      const rest = partition.rest(webhookId);
      const webhook = this.webhooks.find(webhookId);
      if (rest === undefined || webhook === undefined || rest.from >= (rest.to ?? partition.head)) return [];
      const { partition: number, shard = 0 } = partition.at;
      return [{ webhook, name: `${webhookId} ${number} ${shard}`, from: rest.from }];
    });
  }

  #names(): string[] {
    return this.reader.catchUpPartitions().flatMap((partition) => this.#waiting(partition).map(({ name }) => name));
  }

  #judge(webhook: Webhook, at: LogPartition, name: string, oldest: number, now: number): void {
    const expires = oldest + this.archive.retentionMs(at.topic);
    if (now < expires - WARN_BEFORE_MS || now - (this.#warnedAt.get(name) ?? 0) < DAY_MS) return;
    this.#warnedAt.set(name, now);
    this.reports.expiring(webhook, at, expires);
  }

  async #timeOf(at: LogPartition, offset: number): Promise<number | undefined> {
    return (await this.archive.recordAt(at, offset))?.timestamp;
  }

  #unread(at: LogPartition, error: unknown): void {
    this.log.warn('parking.paused', 'The worker cannot read the backlog of parked webhooks and tries again', {
      ...at,
      reason: reasonOf(error),
    });
  }
}
