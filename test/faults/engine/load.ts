import { setTimeout as delay } from 'node:timers/promises';
import { anEnvelope, type Client } from '../../support/client.js';
import { until } from '../../support/until.js';
import { MIX } from './endpoints.js';
import type { Random } from './random.js';

const CONNECTIONS = 32;
const REPEAT_AFTER_MS = 200;
/** The ingress answers within 10 s, whatever is away: one that does not has failed its source. */
const ANSWER_WITHIN_MS = 15_000;

export interface Answered {
  readonly at: number;
  readonly tookMs: number;
  /** 0 for a broken connection. */
  readonly status: number;
  readonly retryAfter: string | null;
}

export interface Accepted {
  readonly type: string;
  /** When its 202 came. */
  readonly at: number;
}

/**
 * A source: posts envelopes at a steady rate and, as a source should, repeats one with the same id until it is answered
 * 202. Every 202 it sees is a promise that the relay is held to.
 */
export class Load {
  readonly accepted = new Map<string, Accepted>();
  readonly answers: Answered[] = [];
  /** Answers that no fault excuses. */
  readonly refused: string[] = [];
  repeated = 0;
  #first: ReturnType<typeof anEnvelope> | undefined;
  #begun = 0;
  #ending = false;
  #running: Promise<unknown> = Promise.resolve();
  #due = 0;

  constructor(
    /** The source, at the ingress whose turn it is. */
    private readonly next: () => Client,
    private readonly random: Random,
    private readonly rate: number,
    /** Envelopes at least. */
    private readonly count: number,
  ) {}

  begin(): void {
    this.#due = performance.now();
    this.#running = Promise.all(Array.from({ length: CONNECTIONS }, () => this.#connection()));
  }

  /** Waits until so many more are accepted than now. */
  async more(count: number, withinMs = 60_000): Promise<void> {
    const goal = this.accepted.size + count;
    await until(`${goal} envelopes are accepted`, () => this.accepted.size >= goal, {
      withinMs,
      seen: () => ({ accepted: this.accepted.size, refused: this.refused.slice(0, 5), last: this.answers.slice(-5) }),
    });
  }

  /** Begins no more envelopes than are due; resolves when all that were begun are accepted. */
  async end(): Promise<void> {
    this.#ending = true;
    await this.#running;
  }

  /** Posts the first envelope once more and returns what it is answered: `duplicate` unless it was forgotten. */
  async repeatFirst(): Promise<string> {
    const source = this.next();
    source.forgetToken();
    const answer = await source.post(this.#first);
    return answer.status === 202 ? String(answer.json['status']) : String(answer.status);
  }

  async #connection(): Promise<void> {
    while (!this.#ending || this.#begun < this.count) {
      this.#begun += 1;
      // An outage leaves no debt: the rate is that of now.
      this.#due = Math.max(this.#due + 1_000 / this.rate, performance.now() - 100);
      const wait = this.#due - performance.now();
      const type = MIX[this.random.int(0, MIX.length - 1)] ?? 'task.created';
      const envelope = anEnvelope({ id: this.random.uuid(), type });
      if (wait > 1) await delay(wait);
      await this.#post(envelope);
    }
  }

  async #post(envelope: ReturnType<typeof anEnvelope>): Promise<void> {
    for (;;) {
      const source = this.next();
      const from = performance.now();
      const answer = await source.post(envelope).catch(() => undefined);
      const at = performance.now();
      const status = answer?.status ?? 0;
      this.answers.push({ at, tookMs: at - from, status, retryAfter: answer?.headers.get('retry-after') ?? null });
      if (at - from > ANSWER_WITHIN_MS) this.refused.push(`answered ${status} after ${Math.round(at - from)} ms`);
      if (status === 202) {
        this.#first ??= envelope;
        this.accepted.set(envelope.id, { type: envelope.type, at });
        return;
      }
      if (status === 401) source.forgetToken();
      else if (status !== 503 && status !== 0) {
        this.refused.push(`answered ${status}: ${answer?.text}`);
        return;
      }
      if (status === 503 && !/^\d+$/.test(answer?.headers.get('retry-after') ?? ''))
        this.refused.push('503 without Retry-After');
      this.repeated += 1;
      await delay(REPEAT_AFTER_MS);
    }
  }
}
