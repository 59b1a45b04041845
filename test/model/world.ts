import type { AttemptResult } from '@relay/delivery';
import { MemoryPartitionProgress, MemoryReplays, MemoryState } from '@relay/testing';
import { PARTITIONS, SimulatedGroup, TOPIC } from './simulated-group.js';
import { Rules } from './rules.js';
import { Ledger, type Appended } from './ledger.js';
import { SimulatedWebhooks } from './simulated-webhooks.js';
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

export const MEMBERS = [0, 1] as const;

/** Stores, log, endpoints and workers of one history, and what must hold of them at every moment. */
export class World {
  readonly state = new MemoryState();
  readonly group = new SimulatedGroup();
  readonly rules = new Rules();
  readonly putAside = new Set<string>();
  /** Webhooks that are to be parked, by whoever hands out to them next. */
  readonly congested = new Set<string>();
  readonly webhooks = new SimulatedWebhooks();
  readonly replays = new MemoryReplays(this.state);
  #replayed = 0;
  readonly #caughtUp = new Set<string>();
  readonly log = new TracedLog((line) => this.trace(line));
  readonly ledger: Ledger;
  readonly #taken = new Set<string>();
  #attempts: Attempt[] = [];
  #late: (() => void)[] = [];
  #workers: SimulatedWorker[] = [];
  /** What may explain a second delivery. */
  faults = 0;

  constructor(readonly trace: (line: string) => void = () => undefined) {
    this.ledger = new Ledger(this.state, this.putAside, this.webhooks.deleted);
  }

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
    const kind = this.ledger.kindOf(partition, id, text);
    const urls = this.webhooks.matching(audience).map((webhook) => ({ webhookId: webhook.id, url: webhook.url }));
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
    this.ledger.put(partition, entry);
    const log = this.group.log[partition];
    const value = Buffer.from(entry.text);
    const offset = String(log?.length);
    log?.push({ key: null, value, headers, offset, timestamp: String(Date.now()), attributes: 0 });
  }

  /** What an ingress does when a partner orders a replay; more than the log holds is none of it. */
  async order(webhookId: string, from: number, count: number): Promise<void> {
    const id = `replay ${(this.#replayed += 1)}`;
    const ranges = PARTITIONS.map((partition) => {
      const length = this.group.log[partition]?.length ?? 0;
      return { topic: TOPIC, partition, from: Math.min(from, length), end: Math.min(from + count, length) };
    });
    const of = { webhookId, partnerId: '', eventType: TOPIC, status: 'all' as const };
    const facts = { id, ...of, since: undefined, until: undefined, orderedBy: 'partner' as const };
    if (this.webhooks.find(webhookId) === undefined) return;
    if ((await this.replays.create(facts, ranges)) !== undefined) return;
    this.trace(`${this.replays.keyOf(id)} is ordered: ${JSON.stringify(ranges)}`);
    this.ledger.order(this.replays.keyOf(id) ?? '', webhookId, ranges);
  }

  /** A delivery out of the log's past. Of these only a cursor is written, so a crash repeats what lies beyond it. */
  caughtUp(url: string, body: string): void {
    this.#caughtUp.add(`${url} ${body}`);
  }

  attemptStarted(attempt: Attempt): void {
    this.trace(`worker ${attempt.worker.member} sends ${attempt.url} ${attempt.body.slice(40, 49)}`);
    this.#attempts.push(attempt);
    if (this.#isFirst(attempt)) this.rules.attempting(sentOf(attempt));
  }

  answer(index: number, answer: Answer): void {
    const [attempt] = this.#attempts.splice(index % Math.max(1, this.#attempts.length), 1);
    if (attempt === undefined) return;
    this.trace(`${attempt.url} answers ${answer} to worker ${attempt.worker.member}`);
    if (answer === 'ok' || answer === 'unheard') this.ledger.receive(attempt.url, attempt.body, this.faults);
    if (answer === 'ok' && this.#isFirst(attempt)) this.rules.answered(attempt.worker.member, sentOf(attempt));
    if (answer === 'unheard') this.faults += 1;
    const failed = { kind: 'failed', error: 'timeout', detail: 'no answer', durationMs: 15_000 } as const;
    const status = { ok: 200, error: 500, gone: 410 };
    attempt.done(
      answer === 'unheard' || answer === 'silence'
        ? failed
        : { kind: 'answered', status: status[answer], durationMs: 5 },
    );
  }

  #isFirst({ isStraight, url, body }: Attempt): boolean {
    return isStraight && !this.#caughtUp.has(`${url} ${body}`);
  }

  answerAll(answer: Answer): void {
    for (let left = this.#attempts.length; left > 0; left -= 1) this.answer(0, answer);
  }

  /** A batch is fetched and handed out, and its ids are looked up. */
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
    this.ledger.wentBack = true;
    this.rules.wentBack();
    this.#late = [];
    for (const worker of this.alive) for (const connection of [worker.redis, worker.queueRedis]) connection.cut();
    this.trace(`Redis loses ${Math.min(writes, this.state.losable)} writes`);
    this.state.goBack(writes);
    this.ledger.forgetOrders();
    this.#taken.clear();
  }

  crash(worker: SimulatedWorker, arriving: number, reached: number): void {
    if (!worker.isAlive) return;
    this.faults += 1;
    worker.crash(arriving);
    const own = this.#attempts.filter((attempt) => attempt.worker === worker);
    this.#attempts = this.#attempts.filter((attempt) => attempt.worker !== worker);
    for (const attempt of own.slice(0, reached)) this.ledger.receive(attempt.url, attempt.body, this.faults);
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

  /** @throws Error where the promise or a rule is broken at this very moment */
  check(): void {
    if (this.rules.broken !== undefined) throw new Error(this.rules.broken);
    this.ledger.check();
  }

  /** @throws Error unless everything of the log is delivered or dead, once all is well again */
  checkEnd(): void {
    this.check();
    this.ledger.checkEnd();
  }

  get isAtRest(): boolean {
    const { progress, jobs } = this.state.now;
    return (
      jobs.size === 0 &&
      !this.ledger.isAnyParked &&
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
