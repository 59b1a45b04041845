import type { Admin, Kafka } from 'kafkajs';
import { answeredWithin } from './answered-within.js';

/** Who asks over HTTP is answered within 10 s, whatever has become of Kafka. */
const ANSWER_MS = 8_000;
const CLOSE_MS = 1_000;

type Question<T> = (admin: Admin) => Promise<T>;

/**
 * One connection for all questions of a process: a login for each would cost the brokers more than the answer. The first question
 * opens it. Questions go side by side, so that one which waits for a frozen broker holds up no other. Once a question failed
 * on it the next one opens another.
 */
export class KeptAdmin {
  #kept: KeptConnection | undefined;
  #isClosed = false;

  constructor(
    private readonly kafka: Kafka,
    private readonly answerMs = ANSWER_MS,
  ) {}

  /**
   * @param question asked a second time where the connection had gone stale: its leaders moved, or a broker closed what was idle
   * @throws Error when the brokers do not answer in time, and whatever `question` throws
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

  /** Ends the connection; questions are refused from now on. */
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
  /** Questions that are not answered yet. */
  #open = 0;

  constructor(private readonly admin: Admin) {
    this.#opened = admin.connect();
  }

  /** Whether it was good once: one that never was is not worth another try. */
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

  /** Ends it once nobody asks any more: kafkajs connects again for a question under way. */
  retire(): void {
    this.#isRetired = true;
    this.#leave();
  }

  /** Ends it now, whatever is under way. */
  async close(): Promise<void> {
    await answeredWithin(CLOSE_MS, this.admin.disconnect()).catch(() => undefined);
  }

  #leave(): void {
    if (this.#isRetired && this.#open === 0) this.admin.disconnect().catch(() => undefined);
  }
}
