import type { LogRecord } from '@relay/events';
import { LOG_RETENTION_MS } from '@relay/kafka';
import type { LogPartition } from '@relay/progress';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import type { Webhook } from '@relay/webhooks';
import type { CatchUpPartition } from '../log/catch-up-partition.js';
import { dropExpired } from './expired-ranges.js';

/** By then the partitions of a worker that starts are its own; what it says of them is not to be missing for an hour. */
const FIRST_LOOK_MS = 60_000;
const LOOK_MS = 3_600_000;
const DAY_MS = 86_400_000;
const WARN_BEFORE_MS = 2 * DAY_MS;

export interface ExpiryWatchParts {
  partitions: () => readonly CatchUpPartition[];
  find: (webhookId: string) => Webhook | undefined;
  /** The first offset that the log of the partition still has. */
  lowest: (at: LogPartition) => Promise<number>;
  /** The record at this offset, or the first after it; undefined when there is none. */
  recordAt: (at: LogPartition, offset: number) => Promise<LogRecord | undefined>;
  /** From this time on, in epoch milliseconds, records that wait for the webhook may be gone. */
  expiring: (webhook: Webhook, at: LogPartition, from: number) => void;
  /** So many records that waited for the webhook are gone. */
  expired: (webhook: Webhook, at: LogPartition, records: number) => void;
  log: ThrottledLog;
}

/**
 * Warns two days before the retention of a topic overtakes what waits in it for a parked webhook, once a day, and tells
 * when it has: while a webhook is disabled nothing of it is caught up, so nobody else would notice.
 */
export class ExpiryWatch {
  readonly #warnedAt = new Map<string, number>();
  /** When the oldest record that waited at the last look was written. */
  readonly #oldest = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly parts: ExpiryWatchParts) {}

  start(inMs = FIRST_LOOK_MS): void {
    this.#timer = setTimeout(() => {
      void this.look(Date.now());
      this.start(LOOK_MS);
    }, inMs).unref();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** How old the oldest record is that waits for a parked webhook, as of the last look: what was caught up since counts until the next. */
  oldestAgeMs(now: number): number {
    const since = (name: string): number => this.#oldest.get(name) ?? now;
    return now - this.#names().reduce((oldest, name) => Math.min(oldest, since(name)), now);
  }

  async look(now: number): Promise<void> {
    for (const partition of this.parts.partitions())
      if (this.#waiting(partition).length > 0)
        await this.#lookAt(partition, now).catch((error: unknown) => this.#unread(partition.at, error));
    const names = new Set(this.#names());
    for (const name of this.#oldest.keys()) if (!names.has(name)) this.#oldest.delete(name);
  }

  async #lookAt(partition: CatchUpPartition, now: number): Promise<void> {
    const lowest = await this.parts.lowest(partition.at);
    for (const { webhook } of this.#waiting(partition)) {
      const records = dropExpired(partition, webhook.id, lowest);
      if (records > 0) this.parts.expired(webhook, partition.at, records);
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

  /** The webhooks for which something waits, and from where on. */
  #waiting(partition: CatchUpPartition): { webhook: Webhook; name: string; from: number }[] {
    return partition.webhookIds.flatMap((webhookId) => {
      const rest = partition.rest(webhookId);
      const webhook = this.parts.find(webhookId);
      if (rest === undefined || webhook === undefined || rest.from >= (rest.to ?? partition.head)) return [];
      return [{ webhook, name: `${webhookId} ${partition.at.partition}`, from: rest.from }];
    });
  }

  #names(): string[] {
    return this.parts.partitions().flatMap((partition) => this.#waiting(partition).map(({ name }) => name));
  }

  #judge(webhook: Webhook, at: LogPartition, name: string, oldest: number, now: number): void {
    const expires = oldest + LOG_RETENTION_MS;
    if (now < expires - WARN_BEFORE_MS || now - (this.#warnedAt.get(name) ?? 0) < DAY_MS) return;
    this.#warnedAt.set(name, now);
    this.parts.expiring(webhook, at, expires);
  }

  async #timeOf(at: LogPartition, offset: number): Promise<number | undefined> {
    return (await this.parts.recordAt(at, offset))?.timestamp;
  }

  #unread(at: LogPartition, error: unknown): void {
    this.parts.log.warn('parking.paused', 'What waits in the log for parked webhooks cannot be read; tried again', {
      ...at,
      reason: reasonOf(error),
    });
  }
}
