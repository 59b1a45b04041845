import { type Publisher, PublishFailed } from '@relay/publishing';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';

// One reporter for each stream of records that the worker writes beside the path of delivery.

/** Every attempt, on `relay.delivery-attempts`. */
export const ATTEMPTS_REPORTER = Symbol('reporter of attempts');
/** Every dead letter with its body, on `relay.dead-letters`. */
export const DEAD_LETTERS_REPORTER = Symbol('reporter of dead letters');
/** `delivery.dead`, on `relay.operations`. */
export const DEAD_DELIVERIES_REPORTER = Symbol('reporter of dead deliveries');
/** Events about webhooks, on `relay.operations`: a flood of dead deliveries leaves room for them. */
export const WEBHOOKS_REPORTER = Symbol('reporter of webhooks');

interface PendingRecord {
  readonly key: string;
  readonly value: Buffer;
}

/** Maximum of records kept in memory while Kafka is away; further ones are dropped and logged. */
const MAX_WAITING = 20_000;
const BATCH = 2_000;

/** Whether Kafka refuses the record again at each try: it is larger than the topic accepts, and the publisher has logged that. */
const isRefused = ({ reason }: { readonly reason: unknown }): boolean =>
  reason instanceof PublishFailed && !reason.retryable;

/**
 * Writes events to a topic beside the path of delivery: batched, repeated, bounded. A record lost here loses no
 * delivery.
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

  /** Whether half of the room is taken. Callers that can wait should wait then. */
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

  /** Sends the waiting records once; those that Kafka does not take are lost. */
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
