import type { AttemptResult } from '@relay/delivery';
import { shardNumber } from '@relay/redis';
import { PARTITIONS } from './simulated-group.js';
import type { SimulatedWorker } from './simulated-worker.js';
import type { World } from './world.js';

interface Attempt {
  readonly worker: SimulatedWorker;
  readonly url: string;
  readonly body: string;
  /** From the log, not from the queue. */
  readonly isStraight: boolean;
  readonly done: (result: AttemptResult) => void;
}

/** What an endpoint does with a request; `unheard`: it answers 2xx, but the answer never comes. */
export type Answer = 'ok' | 'error' | 'gone' | 'unheard' | 'silence';

/** The requests that endpoints have not answered yet. */
export class SimulatedEndpoints {
  readonly #caughtUp = new Set<string>();
  #attempts: Attempt[] = [];

  constructor(private readonly world: World) {}

  get isQuiet(): boolean {
    return this.#attempts.length === 0;
  }

  /** A delivery out of the log's past. Of these only a cursor is written, so a crash repeats what lies beyond it. */
  caughtUp(url: string, body: string): void {
    this.#caughtUp.add(`${url} ${body}`);
  }

  attemptStarted(attempt: Attempt): void {
    this.world.trace(`worker ${attempt.worker.member} sends ${attempt.url} ${attempt.body.slice(40, 49)}`);
    this.#attempts.push(attempt);
    if (this.#isFirst(attempt)) this.world.rules.attempting(this.#sentOf(attempt));
  }

  answer(index: number, answer: Answer): void {
    const { ledger, rules, trace } = this.world;
    const [attempt] = this.#attempts.splice(index % Math.max(1, this.#attempts.length), 1);
    if (attempt === undefined) return;
    trace(`${attempt.url} answers ${answer} to worker ${attempt.worker.member}`);
    if (answer === 'ok' || answer === 'unheard') ledger.receive(attempt.url, attempt.body, this.world.faults);
    if (answer === 'ok' && this.#isFirst(attempt)) rules.answered(attempt.worker.member, this.#sentOf(attempt));
    if (answer === 'unheard') this.world.faults += 1;
    const failed = { kind: 'failed', error: 'timeout', detail: 'no answer', durationMs: 15_000 } as const;
    const status = { ok: 200, error: 500, gone: 410 };
    attempt.done(
      answer === 'unheard' || answer === 'silence'
        ? failed
        : { kind: 'answered', status: status[answer], durationMs: 5 },
    );
  }

  answerAll(answer: Answer): void {
    for (let left = this.#attempts.length; left > 0; left -= 1) this.answer(0, answer);
  }

  /** @param reached how many of the worker's requests have reached their endpoints */
  crash(worker: SimulatedWorker, reached: number): void {
    const own = this.#attempts.filter((attempt) => attempt.worker === worker);
    this.#attempts = this.#attempts.filter((attempt) => attempt.worker !== worker);
    for (const { url, body } of own.slice(0, reached)) this.world.ledger.receive(url, body, this.world.faults);
  }

  #isFirst({ isStraight, url, body }: Attempt): boolean {
    return isStraight && !this.#caughtUp.has(`${url} ${body}`);
  }

  /** An envelope's number, with which its id ends, says its partition. */
  #sentOf({ url, body }: Attempt) {
    const id = body.slice(7, 43);
    const partition = Number(id.slice(24)) % PARTITIONS.length;
    return { url, body, unit: `${partition}/${shardNumber(id, this.world.states.length)}` };
  }
}
