import type { AttemptResult } from '@relay/delivery';
import { NO_WEBHOOK } from '@relay/retry';
import { MemoryPartitionProgress, MemoryState } from '@relay/testing';
import { PARTITIONS, SimulatedGroup, TOPIC } from './simulated-group.js';
import { Rules } from './rules.js';
import { matching } from './simulated-webhooks.js';
import { SimulatedWorker } from './simulated-worker.js';
import { TracedLog } from './traced-log.js';

/** The real one: jest's clock turns the other timers only. */
const nextTurn = setImmediate;

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

/** What the log holds of an envelope, or of a record that is none. */
interface Appended {
  readonly text: string;
  readonly kind: 'first' | 'repeat' | 'conflict' | 'poison';
  readonly urls: readonly { webhookId: string; url: string }[];
}

export const MEMBERS = [0, 1] as const;

/** Stores, log, endpoints and workers of one history, and what must hold of them at every moment. */
export class World {
  readonly state = new MemoryState();
  readonly group = new SimulatedGroup();
  readonly rules = new Rules();
  readonly putAside = new Set<string>();
  readonly log = new TracedLog((line) => this.trace(line));
  readonly #appended: Appended[][] = PARTITIONS.map(() => []);
  readonly #received = new Map<string, number>();
  readonly #taken = new Set<string>();
  #attempts: Attempt[] = [];
  #late: (() => void)[] = [];
  #workers: SimulatedWorker[] = [];
  #wentBack = false;
  /** What may explain a second delivery. */
  faults = 0;

  constructor(readonly trace: (line: string) => void = () => undefined) {}

  async start(): Promise<void> {
    const progress = new MemoryPartitionProgress(this.state);
    for (const partition of PARTITIONS) await progress.own({ topic: TOPIC, partition }, '', { start: 0, take: true });
    this.state.keep();
    for (const partition of PARTITIONS) this.group.give(partition, partition);
    this.#workers = MEMBERS.map((member) => new SimulatedWorker(this, member));
    await this.turn();
    for (const worker of this.#workers) worker.consumer.beat();
    for (const worker of this.#workers) await worker.run();
    this.state.keep();
  }

  /** Lets all that is ready run, up to the next answer or timer. */
  turn(): Promise<void> {
    return new Promise((done) => {
      nextTurn(done);
    });
  }

  worker(member: number): SimulatedWorker {
    return this.#workers[member % this.#workers.length] as SimulatedWorker;
  }

  get alive(): SimulatedWorker[] {
    return this.#workers.filter(({ isAlive }) => isAlive);
  }

  get attempts(): readonly Attempt[] {
    return this.#attempts;
  }

  /** Appends an envelope; the same number and variant again is a repeat, another variant a conflict. */
  append(number: number, variant: number): void {
    const id = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
    const payload = { id, userId: id, financialPlanId: id, variant };
    const text = JSON.stringify({ id, type: TOPIC, payload });
    const audience = number % 3 === 0 ? ['p1'] : [];
    const partition = number % PARTITIONS.length;
    const before = this.#appended[partition]?.filter((entry) => entry.text.includes(`{"id":"${id}","type"`)) ?? [];
    const kind = before.length === 0 ? 'first' : before[0]?.text === text ? 'repeat' : 'conflict';
    const urls = matching(TOPIC, audience).map((webhook) => ({ webhookId: webhook.id, url: webhook.url }));
    this.#put(partition, { text, kind, urls }, audience.length === 0 ? {} : { 'relay-partner': audience.join(',') });
  }

  poison(partition: number): void {
    this.#put(
      partition,
      { text: `poison ${partition}/${this.group.log[partition]?.length}`, kind: 'poison', urls: [] },
      {},
    );
  }

  #put(partition: number, entry: Appended, headers: Record<string, string>): void {
    this.#appended[partition]?.push(entry);
    const log = this.group.log[partition];
    const value = Buffer.from(entry.text);
    const offset = String(log?.length);
    log?.push({ key: null, value, headers, offset, timestamp: String(Date.now()), attributes: 0 });
  }

  attemptStarted(attempt: Attempt): void {
    this.trace(`worker ${attempt.worker.member} sends ${attempt.url} ${attempt.body.slice(40, 49)}`);
    this.#attempts.push(attempt);
    if (attempt.isStraight) this.rules.attempting(sentOf(attempt));
  }

  answer(index: number, answer: Answer): void {
    const [attempt] = this.#attempts.splice(index % Math.max(1, this.#attempts.length), 1);
    if (attempt === undefined) return;
    this.trace(`${attempt.url} answers ${answer} to worker ${attempt.worker.member}`);
    if (answer === 'ok' || answer === 'unheard') this.#receive(attempt);
    if (answer === 'ok' && attempt.isStraight) this.rules.answered(attempt.worker.member, sentOf(attempt));
    if (answer === 'unheard') this.faults += 1;
    const failed = { kind: 'failed', error: 'timeout', detail: 'no answer', durationMs: 15_000 } as const;
    const status = { ok: 200, error: 500, gone: 410 };
    attempt.done(
      answer === 'unheard' || answer === 'silence'
        ? failed
        : { kind: 'answered', status: status[answer], durationMs: 5 },
    );
  }

  #receive({ url, body }: Attempt): void {
    const key = `${url} ${body}`;
    this.#received.set(key, (this.#received.get(key) ?? 0) + 1);
    if (this.faults === 0 && this.#received.get(key) !== 1) throw new Error(`delivered twice without a fault: ${key}`);
  }

  answerAll(answer: Answer): void {
    for (let left = this.#attempts.length; left > 0; left -= 1) this.answer(0, answer);
  }

  /** A batch is fetched and handed out, and its ids are reserved. */
  async read(worker: SimulatedWorker, partition: number, count: number): Promise<void> {
    worker.consumer.fetch(partition, count);
    worker.consumer.hand(partition);
    await this.turn();
    worker.redis.arrive();
    worker.redis.answer();
  }

  timeOut(worker: SimulatedWorker): void {
    this.#fault();
    worker.redis.timeOut();
  }

  cut(worker: SimulatedWorker, line: 'redis' | 'queueRedis' | 'kafka', arriving: number, isHalfOpen: boolean): void {
    if (!worker.isAlive) return;
    this.#fault();
    const late = worker[line].cut(arriving);
    if (isHalfOpen) this.#late.push(...late);
  }

  #fault(): void {
    this.faults += 1;
    this.rules.onlyCrashes = false;
  }

  arriveLate(): void {
    this.#late.shift()?.();
  }

  /** All connections break, since Redis starts again without its latest writes. */
  goBack(writes: number): void {
    this.#fault();
    this.#wentBack = true;
    this.rules.wentBack();
    this.#late = [];
    for (const worker of this.alive) for (const connection of [worker.redis, worker.queueRedis]) connection.cut();
    this.trace(`Redis loses ${Math.min(writes, this.state.losable)} writes`);
    this.state.goBack(writes);
    this.#taken.clear();
  }

  crash(worker: SimulatedWorker, arriving: number, reached: number): void {
    if (!worker.isAlive) return;
    this.faults += 1;
    worker.crash(arriving);
    const own = this.#attempts.filter((attempt) => attempt.worker === worker);
    this.#attempts = this.#attempts.filter((attempt) => attempt.worker !== worker);
    for (const attempt of own.slice(0, reached)) this.#receive(attempt);
    const heir = this.alive[0];
    for (const partition of PARTITIONS) {
      if (heir !== undefined && this.group.meantFor[partition] === worker.member)
        this.group.give(partition, heir.member);
    }
    this.#taken.clear();
  }

  startAgain(worker: SimulatedWorker): void {
    if (worker.isAlive) return;
    this.rules.onlyCrashes = false;
    this.#workers[worker.member] = new SimulatedWorker(this, worker.member);
    const isAlone = this.alive.length === 1;
    for (const partition of PARTITIONS)
      if (isAlone || partition === worker.member) this.group.give(partition, worker.member);
  }

  move(partition: number, worker: SimulatedWorker): void {
    if (!worker.isAlive || this.group.meantFor[partition] === worker.member) return;
    this.#fault();
    this.group.give(partition, worker.member);
  }

  /** A queued delivery that no worker has taken is taken up. */
  take(worker: SimulatedWorker, index: number): void {
    const free = [...this.state.now.jobs].filter(([id]) => !this.#taken.has(id));
    const [id, job] = free[index % Math.max(1, free.length)] ?? [];
    if (!worker.isAlive || id === undefined || job === undefined) return;
    this.#taken.add(id);
    // BullMQ catches what a processor throws; the job comes again.
    const over = (): unknown => this.#taken.delete(id);
    worker.attempt(job).then(over, over);
  }

  /** What the store calls settled is delivered, queued or a dead letter: the promise, at this very moment. */
  check(): void {
    if (this.rules.broken !== undefined) throw new Error(this.rules.broken);
    for (const partition of PARTITIONS) {
      const highWater = this.state.now.progress.get(`${TOPIC}/${partition}`)?.highWater ?? 0;
      const settled = this.#appended[partition]?.slice(0, highWater) ?? [];
      for (const [offset, entry] of settled.entries()) {
        const lost = this.#missing(entry);
        if (lost !== undefined)
          throw new Error(`the high water of ${partition} is ${highWater}, but ${offset} is lost: ${lost}`);
      }
    }
  }

  /** Everything of the log is delivered or dead, once all is well again. */
  checkEnd(): void {
    this.check();
    for (const [partition, entries] of this.#appended.entries()) {
      const { highWater } = this.state.now.progress.get(`${TOPIC}/${partition}`) ?? {};
      if (highWater !== entries.length)
        throw new Error(`the high water of ${partition} ends at ${highWater} of ${entries.length}`);
    }
    if (this.state.now.jobs.size > 0) throw new Error(`${this.state.now.jobs.size} jobs are left`);
  }

  #missing({ kind, text, urls }: Appended): string | undefined {
    if (kind === 'poison') return this.putAside.has(text) ? undefined : text;
    const { jobs, deadLetters } = this.state.now;
    const held = (webhookId: string): boolean =>
      [...jobs.values(), ...deadLetters.values()].some((job) => job.webhookId === webhookId && job.body === text);
    const isReceived = urls.some(({ url }) => this.#received.has(`${url} ${text}`));
    if (kind === 'conflict' && isReceived && !this.#wentBack)
      return `delivered although its id was used before: ${text}`;
    // A Redis that went back may have forgotten which content came first: then both may be delivered, and none is lost.
    if (held(NO_WEBHOOK) && (kind === 'conflict' || this.#wentBack)) return undefined;
    if (kind === 'conflict' && !this.#wentBack) return `no dead letter of the conflict ${text}`;
    const missing = urls.find(({ webhookId, url }) => !this.#received.has(`${url} ${text}`) && !held(webhookId));
    return missing === undefined ? undefined : `${missing.url} never got ${text}`;
  }

  get deliveries(): number {
    return this.#received.size;
  }

  get duplicates(): number {
    return [...this.#received.values()].reduce((sum, count) => sum + count - 1, 0);
  }

  get isAtRest(): boolean {
    const { progress, jobs } = this.state.now;
    return (
      jobs.size === 0 &&
      this.#attempts.length === 0 &&
      this.alive.every((worker) => worker.isQuiet) &&
      PARTITIONS.every(
        (partition) => progress.get(`${TOPIC}/${partition}`)?.highWater === this.group.log[partition]?.length,
      )
    );
  }

  end(): void {
    for (const worker of this.#workers) if (worker.isAlive) worker.crash(0);
  }
}

/** An envelope's number, with which its id ends, says its partition. */
const sentOf = ({ url, body }: Attempt) => ({ url, body, partition: Number(body.slice(31, 43)) % PARTITIONS.length });
