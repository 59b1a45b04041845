import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Optional } from '@nestjs/common';
import { isRetriable } from './kafka-errors.adapter.js';
import { Kafka, type KafkaAdmin } from './kafka.port.js';

/**
 * Returns the answer, or throws the error of `late` after `ms` milliseconds. A frozen broker keeps its connections open, so
 * the driver itself waits much longer.
 */
export async function answeredWithin<T>(
  ms: number,
  answer: Promise<T>,
  late = (): Error => new Error(`Kafka did not answer within ${ms} ms`),
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  try {
    return await Promise.race([answer, silence]);
  } finally {
    clearTimeout(timer);
  }
}

const PAUSE_MS = 250;

/**
 * Repeats a request for `withinMs` milliseconds as long as the brokers answer with a retriable error. The driver also
 * repeats requests, but not in all of its steps.
 * @throws any other error of `ask`, and every error after that time
 */
export async function askedAgain<T>(withinMs: number, ask: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;)
    try {
      return await ask();
    } catch (error) {
      if (!isRetriable(error) || performance.now() > deadline) throw error;
      await delay(PAUSE_MS);
    }
}

/** An HTTP request that needs Kafka is answered within 10 s in any case. */
const ANSWER_MS = 8_000;
const CLOSE_MS = 1_000;

type Question<T> = (admin: KafkaAdmin) => Promise<T>;

/**
 * One admin connection for all requests of a process, because a login costs the brokers more than an answer. The first
 * request opens the connection. Requests run concurrently, so a request to a frozen broker delays no other request. After a
 * failed request, the next request opens a new connection.
 */
@Injectable()
export class KeptAdmin {
  #kept: KeptConnection | undefined;
  #isClosed = false;

  constructor(
    readonly kafka: Kafka,
    @Optional() private readonly answerMs = ANSWER_MS,
  ) {}

  /**
   * @param question asked a second time if the connection was stale, for example because a broker closed the idle connection
   * @throws Error if the brokers do not answer in time, and every error of `question`
   */
  async ask<T>(question: Question<T>): Promise<T> {
    const deadline = performance.now() + this.answerMs;
    const kept = this.#kept;
    if (kept?.hasAnswered === true) {
      try {
        return await this.#askOn(kept, question, deadline);
      } catch (error) {
        if (performance.now() >= deadline) throw error;
      }
    }
    return this.#askOn((this.#kept ??= this.#open()), question, deadline);
  }

  /** Closes the connection; later requests are refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const kept = this.#kept;
    this.#kept = undefined;
    await kept?.close();
  }

  #open(): KeptConnection {
    if (this.#isClosed) throw new Error('The connection to Kafka is closed');
    return new KeptConnection(this.kafka.admin());
  }

  async #askOn<T>(connection: KeptConnection, question: Question<T>, deadline: number): Promise<T> {
    try {
      return await connection.ask(question, Math.max(0, Math.round(deadline - performance.now())));
    } catch (error) {
      if (this.#kept === connection) this.#kept = undefined;
      connection.retire();
      throw error;
    }
  }
}

class KeptConnection {
  readonly #opened: Promise<void>;
  #hasAnswered = false;
  #isRetired = false;
  /** Number of requests without an answer. */
  #open = 0;

  constructor(private readonly admin: KafkaAdmin) {
    this.#opened = admin.connect();
  }

  /** Whether a request has succeeded on this connection. If none has, a repeat on a new connection is useless. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  async ask<T>(question: Question<T>, withinMs: number): Promise<T> {
    this.#open += 1;
    const answer = this.#opened
      .then(() => question(this.admin))
      .finally(() => {
        this.#open -= 1;
        this.#leave();
      });
    const found = await answeredWithin(withinMs, answer);
    this.#hasAnswered = true;
    return found;
  }

  /**
   * Closes the connection after its last request. If it closed earlier, the driver would connect again for a running
   * request.
   */
  retire(): void {
    this.#isRetired = true;
    this.#leave();
  }

  /** Closes the connection now, even if requests are running. */
  async close(): Promise<void> {
    await answeredWithin(CLOSE_MS, this.admin.disconnect()).catch(() => undefined);
  }

  #leave(): void {
    if (this.#isRetired && this.#open === 0) this.admin.disconnect().catch(() => undefined);
  }
}

/** Runs `work` with an admin connection and closes the connection afterwards. Rejects if no broker answers. */
export async function withAdmin<T>(kafka: Kafka, work: (admin: KafkaAdmin) => Promise<T>): Promise<T> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}

/** Number of records of one topic that are not settled, according to the committed offsets, which may be 5 s old. */
export interface TopicLag {
  readonly topic: string;
  readonly lag: number;
}

/** Returns the lag of a group by topic, without topics that do not exist. Rejects if no broker answers. */
export async function readLag(admin: KafkaAdmin, groupId: string, topics: readonly string[]): Promise<TopicLag[]> {
  const existing = new Set(await admin.listTopics());
  const asked = topics.filter((topic) => existing.has(topic));
  if (asked.length === 0) return [];
  const committed = await admin.fetchOffsets({ groupId, topics: asked });
  return Promise.all(
    committed.map(async ({ topic, partitions }) => {
      const offsets = new Map(partitions.map(({ partition, offset }) => [partition, Number(offset)]));
      const ends = await admin.fetchTopicOffsets(topic);
      // If there is no committed offset, or retention has deleted the record there, reading starts at the oldest record.
      const lag = ends.reduce(
        (sum, { partition, high, low }) =>
          sum + Math.max(0, Number(high) - Math.max(offsets.get(partition) ?? -1, Number(low))),
        0,
      );
      return { topic, lag };
    }),
  );
}
