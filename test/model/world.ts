import type { PartitionProgress } from '@relay/progress';
import { shardNumber } from '@relay/redis';
import { MemoryPartitionProgress, MemoryReplays, MemoryState } from '@relay/testing';
import type { Connection } from './connection.js';
import { EventTypes } from '../../libs/events/event-types.js';
import { APPLIED, APPLIED_PARTITION, PARTITIONS, SimulatedGroup, TOPIC, topicOf } from './simulated-group.js';
import { Rules } from './rules.js';
import { Ledger, type Appended } from './ledger.js';
import { SimulatedEndpoints } from './simulated-endpoints.js';
import { SimulatedWebhooks } from './simulated-webhooks.js';
import { SimulatedWorker } from './simulated-worker.js';
import { TracedLog } from './traced-log.js';

/** The real one: jest's clock turns the other timers only. */
const nextTurn = setImmediate;

export const MEMBERS = [0, 1] as const;

export type ProgressOf = (state: MemoryState, shard: number, all: readonly MemoryState[]) => PartitionProgress;

/** Stores, log, endpoints and workers of one history, and what must hold of them at every moment. */
export class World {
  /** That of each shard. */
  readonly states: readonly MemoryState[];
  readonly group = new SimulatedGroup();
  readonly rules = new Rules();
  readonly putAside = new Set<string>();
  /** Webhooks that are to be parked, by whoever hands out to them next. */
  readonly congested = new Set<string>();
  readonly webhooks = new SimulatedWebhooks();
  /** The event types of the ingress. A worker hears of a change later. */
  readonly types = new EventTypes();
  /** What belongs to no shard; with one it goes back with that. */
  readonly global: MemoryState;
  readonly replays: MemoryReplays;
  #replayed = 0;
  readonly log = new TracedLog((line) => this.trace(line));
  readonly ledger: Ledger;
  readonly endpoints = new SimulatedEndpoints(this);
  readonly #taken = new Set<string>();
  #late: (() => void)[] = [];
  #workers: SimulatedWorker[] = [];
  /** What may explain a second delivery. */
  faults = 0;

  /** @param progressOf the progress in a shard, for what a wrong one would lose */
  constructor(
    readonly trace: (line: string) => void = () => undefined,
    shards = 1,
    readonly progressOf: ProgressOf = (state) => new MemoryPartitionProgress(state),
  ) {
    this.states = Array.from({ length: shards }, () => new MemoryState());
    const [first] = this.states as [MemoryState];
    this.global = shards === 1 ? first : new MemoryState();
    this.replays = new MemoryReplays(this.global, this.states);
    this.ledger = new Ledger(this.states, this.global, this.putAside, this.webhooks.deleted);
  }

  /** The state of the shard of an envelope. */
  stateOf(envelopeId: string): MemoryState {
    return this.states[shardNumber(envelopeId, this.states.length)] as MemoryState;
  }

  keep(): void {
    for (const state of this.states) state.keep();
  }

  async start(): Promise<void> {
    const stores = this.states.map(this.progressOf);
    for (const [shard, progress] of stores.entries()) {
      const of = stores.length === 1 ? {} : { shard, shards: stores.length };
      for (const partition of MEMBERS)
        await progress.own({ topic: TOPIC, partition, ...of }, '', { start: 0, take: true });
    }
    this.keep();
    for (const partition of PARTITIONS) this.group.give(partition, partition % MEMBERS.length);
    this.#workers = MEMBERS.map((member) => new SimulatedWorker(this, member));
    await this.turn();
    for (const worker of this.#workers) worker.consumer.beat();
    for (const worker of this.#workers) await worker.run();
    this.keep();
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

  /** A number of a history as that of a shard. */
  shardAt(number: number): number {
    return number % this.states.length;
  }

  line(member: number, name: 'redis' | 'queueRedis' | 'kafka', shard: number): Connection {
    return this.worker(member).line(name, this.shardAt(shard));
  }

  get alive(): SimulatedWorker[] {
    return this.#workers.filter(({ isAlive }) => isAlive);
  }

  /** An operator applies the type, or archives it once it exists. */
  apply(isArchived: boolean): void {
    if (isArchived && !this.types.is('known', APPLIED)) return;
    const type = { name: APPLIED, description: '', revision: 1, sample: {}, audience: 'any', isArchived } as const;
    this.types.replace({ applied: [{ ...type, faultsOf: () => [] }] });
  }

  /** Appends an envelope; the same number and variant again is a repeat, another variant a conflict. */
  append(number: number, variant: number, partition = number % MEMBERS.length): void {
    const type = topicOf(partition);
    if (!this.types.is('sendable', type)) return;
    const own = 100 * this.group.made + (partition === APPLIED_PARTITION ? 50 : 0) + number;
    const id = `00000000-0000-4000-8000-${String(own).padStart(12, '0')}`;
    const payload = { id, userId: id, financialPlanId: id, variant };
    const text = JSON.stringify({ id, type, payload });
    const audience = number % 3 === 0 ? ['p1'] : [];
    const kind = this.ledger.kindOf(partition, id, text);
    const urls = this.webhooks.matching(type, audience).map((webhook) => ({ webhookId: webhook.id, url: webhook.url }));
    const shard = shardNumber(id, this.states.length);
    this.#put(
      partition,
      { text, kind, urls, shard },
      audience.length === 0 ? {} : { 'relay-partner': audience.join(',') },
    );
  }

  poison(partition: number): void {
    this.#put(
      partition,
      { text: `poison ${partition}/${this.group.log[partition]?.length}`, kind: 'poison', urls: [], shard: 0 },
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
    const ranges = MEMBERS.map((partition) => {
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

  /** A batch is fetched and handed out, and its ids are looked up. */
  async read(worker: SimulatedWorker, partition: number, count: number): Promise<void> {
    worker.consumer.fetch(partition, count);
    worker.consumer.hand(partition);
    await this.turn();
    for (const shard of this.states.keys()) {
      worker.redis(shard).arrive();
      worker.redis(shard).answer();
    }
  }

  /** Of replays it is not the model's to say what they still owe. */
  makeTopicAnew(): void {
    if (this.global.now.replays.size > 0 || this.#replayed > 0) return;
    this.#fault();
    this.group.makeAnew();
    this.ledger.madeAnew(this.group.topicId);
    this.trace(`the topic is created anew as ${this.group.topicId}`);
  }

  timeOut(worker: SimulatedWorker, shard: number): void {
    this.#fault();
    worker.redis(shard).timeOut();
  }

  cut(worker: SimulatedWorker, line: Connection, arriving: number, isHalfOpen: boolean): void {
    if (!worker.isAlive) return;
    this.#fault();
    const late = line.cut(arriving);
    if (isHalfOpen) this.#late.push(...late);
  }

  #fault(): void {
    this.faults += 1;
    this.rules.onlyCrashes = false;
  }

  arriveLate(): void {
    this.#late.shift()?.();
  }

  /** All connections to a shard break, since it starts again without its latest writes. */
  goBack(shard: number, writes: number): void {
    this.#fault();
    this.ledger.wentBack = true;
    this.rules.wentBack(shard);
    this.#late = [];
    for (const worker of this.alive)
      for (const connection of [worker.redis(shard), worker.queueRedis(shard)]) connection.cut();
    const state = this.states[shard] as MemoryState;
    this.trace(`shard ${shard} loses ${Math.min(writes, state.losable)} writes`);
    state.goBack(writes);
    this.ledger.forgetOrders();
    this.#taken.clear();
  }

  crash(worker: SimulatedWorker, arriving: number, reached: number): void {
    if (!worker.isAlive) return;
    this.faults += 1;
    worker.crash(arriving);
    this.endpoints.crash(worker, reached);
    this.#bequeath(worker);
    this.#taken.clear();
  }

  /** A worker leaves the group to join again with other topics. */
  left(worker: SimulatedWorker): void {
    if (!worker.isAlive) return;
    this.#fault();
    this.#bequeath(worker);
  }

  cameBack(worker: SimulatedWorker): void {
    if (worker.isAlive) this.#giveBack(worker);
  }

  #bequeath(worker: SimulatedWorker): void {
    const heir = this.alive.find((each) => each !== worker);
    for (const partition of PARTITIONS) {
      if (heir !== undefined && this.group.meantFor[partition] === worker.member)
        this.group.give(partition, heir.member);
    }
  }

  #giveBack({ member }: SimulatedWorker): void {
    const isAlone = this.alive.length === 1;
    for (const partition of PARTITIONS)
      if (isAlone || partition % MEMBERS.length === member) this.group.give(partition, member);
  }

  startAgain(worker: SimulatedWorker): void {
    if (worker.isAlive) return;
    this.rules.onlyCrashes = false;
    this.#workers[worker.member] = new SimulatedWorker(this, worker.member);
    this.#giveBack(worker);
  }

  move(partition: number, worker: SimulatedWorker): void {
    if (!worker.isAlive || this.group.meantFor[partition] === worker.member) return;
    this.#fault();
    this.group.give(partition, worker.member);
  }

  /** A queued delivery that no worker has taken is taken up. */
  take(worker: SimulatedWorker, index: number): void {
    const jobs = this.states.flatMap(({ now }) => [...now.jobs]);
    const free = jobs.filter(([id]) => !this.#taken.has(id));
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
    return (
      this.states.every(({ now }) => now.jobs.size === 0) &&
      !this.ledger.isAnyParked &&
      this.global.now.replays.size === 0 &&
      this.endpoints.isQuiet &&
      this.alive.every((worker) => worker.isQuiet) &&
      PARTITIONS.every((partition) =>
        [...this.states.keys()].every(
          (shard) =>
            this.ledger.isOfLog(partition, shard) &&
            (this.ledger.highWaterOf(partition, shard) ?? 0) === this.group.log[partition]?.length,
        ),
      )
    );
  }

  end(): void {
    for (const worker of this.#workers) if (worker.isAlive) worker.crash(0);
  }
}
