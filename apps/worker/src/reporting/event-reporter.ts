import { type Publisher, PublishFailed } from '@relay/publishing';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';

// Injection tokens of the reporters. Each reporter writes one stream of records, for which no delivery waits.

/** Every attempt, on `relay.delivery-attempts`. */
export const ATTEMPTS_REPORTER = Symbol('reporter of attempts');
/** Every dead letter with its body, on `relay.dead-letters`. */
export const DEAD_LETTERS_REPORTER = Symbol('reporter of dead letters');
/** `delivery.dead`, on `relay.operations`. */
export const DEAD_DELIVERIES_REPORTER = Symbol('reporter of dead deliveries');
/**
 * Events about webhooks, on `relay.operations`. Dead deliveries have another reporter, so a flood of them cannot fill this
 * buffer.
 */
export const WEBHOOKS_REPORTER = Symbol('reporter of webhooks');

interface PendingRecord {
  readonly key: string;
  readonly value: Buffer;
}

/**
 * Maximum number of records kept in memory while Kafka does not answer. Further records are dropped, and a warning is
 * logged.
 */
const MAX_WAITING = 20_000;
const BATCH = 2_000;

/**
 * Whether Kafka refuses the record on every attempt, because the record is too large for the topic. The publisher has logged
 * it.
 */
const isRefused = ({ reason }: { readonly reason: unknown }): boolean =>
  reason instanceof PublishFailed && !reason.retryable;

/**
 * Writes events to a topic in batches. Deliveries do not wait for it. Records that Kafka did not acknowledge are sent again
 * from a buffer of limited size. If a record is lost here, no delivery is lost.
 */
export class EventReporter {
  #waiting: PendingRecord[] = [];
  #publishing: Promise<void> | undefined;
  readonly #timer: NodeJS.Timeout;

  constructor(
    private readonly publisher: Publisher,
    private readonly topic: string,
    private readonly log: ThrottledLog,
    everyMs = 200,
  ) {
    this.#timer = setInterval(() => void this.#publish(), everyMs);
  }

  /** Whether at least half of the buffer is used. Callers that can wait should then wait. */
  get isFilling(): boolean {
    return this.#waiting.length >= MAX_WAITING / 2;
  }

  report(key: string, record: object): void {
    if (this.#waiting.length >= MAX_WAITING) {
      this.log.warn(
        'topic.dropped',
        'Kafka accepts no records of this topic and the buffer for them is full; the worker drops them, deliveries continue',
        {
          topic: this.topic,
        },
      );
      return;
    }
    this.#waiting.push({ key, value: Buffer.from(JSON.stringify(record)) });
  }

  async #publish(): Promise<void> {
    if (this.#publishing !== undefined || this.#waiting.length === 0) return;
    const batch = this.#waiting.splice(0, BATCH);
    this.#publishing = this.#send(batch).finally(() => (this.#publishing = undefined));
    await this.#publishing;
  }

  async #send(batch: PendingRecord[]): Promise<void> {
    const { topic } = this;
    const headers = { 'content-type': 'application/json' };
    const results = await Promise.allSettled(
      batch.map(({ key, value }) => this.publisher.publish({ topic, key, value, headers })),
    );
    const failed = results.flatMap((result, index) =>
      result.status === 'rejected' ? [{ record: batch[index] as PendingRecord, reason: result.reason as unknown }] : [],
    );
    const delayed = failed.filter((each) => !isRefused(each));
    if (delayed[0] === undefined) return;
    this.log.warn('topic.delayed', 'Kafka did not acknowledge records; the worker sends them again', {
      topic,
      records: delayed.length,
      reason: reasonOf(delayed[0].reason),
    });
    this.#waiting.unshift(...delayed.map(({ record }) => record));
  }

  /** Sends the waiting records. Records that Kafka does not acknowledge now are lost. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#publishing;
    while (this.#waiting.length > 0) {
      const before = this.#waiting.length;
      await this.#publish();
      if (this.#waiting.length >= before) return;
    }
  }
}
