import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { operationsRecord } from '@relay/events';
import type { OffsetGap } from '@relay/kafka';
import { Notices } from '@relay/notices';
import type { LogPartition } from '@relay/progress';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView, type Webhook } from '@relay/webhooks';
import { Gauge, Registry } from 'prom-client';
import type { CatchUpPartition, RangeCatchUp } from '../log/catch-up-partition.js';
import { LogArchive } from '../log/log-archive.adapter.js';
import { LogReader } from '../log/log-reader.js';
import { DeliveryMetrics } from '../metrics/delivery-metrics.js';
import { type EventReporter, WEBHOOKS_REPORTER } from '../reporting/event-reporter.js';

/** Reports records that are lost to parked webhooks and replays because of a topic's retention, compaction or deletion. */
@Injectable()
export class RetentionReports {
  constructor(
    @Inject(WEBHOOKS_REPORTER) private readonly operations: Pick<EventReporter, 'report'>,
    @Inject(Notices) private readonly notices: Pick<Notices, 'tell'>,
    private readonly metrics: DeliveryMetrics,
    private readonly log: ThrottledLog,
  ) {}

  /** @param from epoch milliseconds from which on Kafka may delete records that wait for the webhook */
  expiring(webhook: Webhook, at: LogPartition, from: number): void {
    const { id: webhookId, partnerId } = webhook;
    const expiresFrom = new Date(from).toISOString();
    const facts = { webhookId, partnerId, ...at, expiresFrom };
    this.log.warn(
      'webhook.expiring',
      "Records that wait in the log for a parked webhook are near the end of their topic's retention; have the endpoint repaired, or raise retention.ms of the topic",
      facts,
    );
    this.operations.report(webhookId, operationsRecord('webhook.expiring', facts, Date.now()));
    void this.notices.tell('deliveries.expiring', webhook, { expiresFrom });
  }

  /** @param records upper bound of the number of lost records */
  expired({ id: webhookId, partnerId }: Webhook, at: LogPartition, records: number): void {
    this.metrics.expired(records);
    const facts = { webhookId, partnerId, ...at, records };
    this.log.warn(
      'webhook.expired',
      "Records that waited in the log for a parked webhook or a replay are gone: Kafka's retention or compaction deleted them, or their topic was deleted; have the source send them again",
      facts,
    );
    this.operations.report(webhookId, operationsRecord('webhook.expired', facts, Date.now()));
  }
}

/** Delay in ms of the first check. By then, a worker that has just started owns its partitions. */
const FIRST_LOOK_MS = 60_000;
const LOOK_MS = 3_600_000;
const DAY_MS = 86_400_000;
const WARN_BEFORE_MS = 2 * DAY_MS;

/**
 * Warns if the retention of a topic will delete records of a parked webhook within two days. The warning is repeated once a
 * day. Records that are already deleted are reported, too. For a disabled webhook, only this watch notices the deletion,
 * because the catch-up does not read its records.
 */
@Injectable()
export class ExpiryWatch implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #warnedAt = new Map<string, number>();
  /** Timestamp of the oldest waiting record for each webhook and partition, in epoch milliseconds, as of the last check. */
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

  /** Returns the age in ms of the oldest record that waits for a parked webhook, as of the last check; 0 if none waits. */
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

  /** Returns every webhook that has a backlog in the partition, and the offset at which the backlog begins. */
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

/**
 * Removes from the range of a webhook or replay the offsets that Kafka has deleted.
 * @param lowest the first offset that the partition still has
 * @returns upper bound of the number of lost records
 */
export function dropExpired(partition: Pick<CatchUpPartition, 'at' | 'catchUp'>, key: string, lowest: number): number {
  const range = partition.catchUp(key);
  return range === undefined ? 0 : dropGap(partition, range, { from: 0, to: lowest });
}

/**
 * Removes offsets that have no record from a range. Every earlier offset of the range must already have been dispatched.
 * @returns upper bound of the number of lost records. With several shards, this is one shard's share of the removed offsets.
 */
export function dropGap({ at }: Pick<CatchUpPartition, 'at'>, range: RangeCatchUp, { from, to }: OffsetGap): number {
  if (range.from >= to) return 0;
  range.passed(to);
  const offsets = Math.min(to, range.to ?? to) - Math.max(from, range.from);
  return Math.ceil(Math.max(0, offsets) / (at.shards ?? 1));
}

/** Gauges of the backlogs that parked webhooks have in the partitions of this worker. They are read at each scrape. */
@Injectable()
export class ParkedGauges {
  constructor(
    registry: Registry,
    @Inject(LogReader) reader: Pick<LogReader, 'catchUpPartitions'>,
    @Inject(ExpiryWatch) watch: Pick<ExpiryWatch, 'oldestAgeMs'>,
  ) {
    registry.registerMetric(
      new Gauge({
        name: 'relay_parked_deliveries',
        help: 'Records in the partitions of this worker that wait in the log for parked webhooks, at most: take sum().',
        registers: [],
        collect() {
          this.set(Math.round(reader.catchUpPartitions().reduce((sum, partition) => sum + partition.waiting, 0)));
        },
      }),
    );
    registry.registerMetric(
      new Gauge({
        name: 'relay_parked_oldest_age_seconds',
        help: 'Age of the oldest record in the partitions of this worker that waits in the log for a parked webhook, looked at every hour; 0: none. Take max().',
        registers: [],
        collect() {
          this.set(watch.oldestAgeMs(Date.now()) / 1_000);
        },
      }),
    );
  }
}
