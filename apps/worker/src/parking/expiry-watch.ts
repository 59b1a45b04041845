import type { LogRecord } from '@relay/events';
import { LOG_RETENTION_MS } from '@relay/kafka';
import type { LogPartition } from '@relay/progress';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import type { Webhook } from '@relay/webhooks';
import type { CatchingUp } from '../log/catching-up.js';

const LOOK_MS = 3_600_000;
const DAY_MS = 86_400_000;
const WARN_BEFORE_MS = 2 * DAY_MS;

export interface ExpiryWatchParts {
  partitions: () => readonly CatchingUp[];
  find: (webhookId: string) => Webhook | undefined;
  /** The record at this offset, or the first after it; undefined when there is none. */
  recordAt: (at: LogPartition, offset: number) => Promise<LogRecord | undefined>;
  /** From this time on, in epoch milliseconds, records that wait for the webhook may be gone. */
  expiring: (webhook: Webhook, at: LogPartition, from: number) => void;
  log: ThrottledLog;
}

/** Warns two days before the retention of a topic overtakes what waits in it for a parked webhook, once a day. */
export class ExpiryWatch {
  readonly #warnedAt = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly parts: ExpiryWatchParts) {}

  start(): void {
    this.#timer = setInterval(() => void this.look(Date.now()), LOOK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async look(now: number): Promise<void> {
    for (const partition of this.parts.partitions()) {
      const ages = new Map<number, Promise<number | undefined>>();
      for (const webhookId of partition.webhookIds) {
        const rest = partition.rest(webhookId);
        const webhook = this.parts.find(webhookId);
        if (rest === undefined || webhook === undefined || rest.from >= (rest.to ?? partition.head)) continue;
        const oldest = ages.get(rest.from) ?? this.#timeOf(partition.at, rest.from);
        ages.set(rest.from, oldest);
        this.#judge(webhook, partition.at, await oldest, now);
      }
    }
  }

  #judge(webhook: Webhook, at: LogPartition, oldest: number | undefined, now: number): void {
    if (oldest === undefined) return;
    const expires = oldest + LOG_RETENTION_MS;
    const name = `${webhook.id} ${at.partition}`;
    if (now < expires - WARN_BEFORE_MS || now - (this.#warnedAt.get(name) ?? 0) < DAY_MS) return;
    this.#warnedAt.set(name, now);
    this.parts.expiring(webhook, at, expires);
  }

  async #timeOf(at: LogPartition, offset: number): Promise<number | undefined> {
    try {
      return (await this.parts.recordAt(at, offset))?.timestamp;
    } catch (error) {
      this.parts.log.warn('parking.paused', 'What waits in the log for parked webhooks cannot be read; tried again', {
        ...at,
        reason: reasonOf(error),
      });
      return undefined;
    }
  }
}
