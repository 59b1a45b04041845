import { PublishFailed, type OutgoingRecord } from './publisher.port.js';

/** Records of one partition that are sent together, in order. */
export interface Batch {
  readonly topic: string;
  readonly partition: number;
  readonly records: readonly OutgoingRecord[];
}

/**
 * Sends batches of different partitions in one request. Resolves when all of them are acknowledged, with the offset of the
 * first record of each batch, or undefined if that offset is not known. Rejects with PublishFailed.
 */
type Send = (batches: readonly Batch[]) => Promise<readonly (number | undefined)[]>;

export interface LaneSettings {
  /** Maximum bytes of one batch. It must be below the broker's `max.message.bytes`, which limits a whole batch. */
  readonly maxBatchBytes: number;
  readonly maxBatchRecords: number;
  /** Maximum time from a call to its answer, in ms. */
  readonly deadlineMs: number;
  /** Maximum bytes of waiting records over all lanes. Further records are refused as `overloaded`. */
  readonly maxWaitingBytes: number;
  /** Maximum bytes of one request over all its batches. */
  readonly maxRequestBytes: number;
  /**
   * Maximum number of requests in flight to one broker. A broker handles the requests of one connection one by one in any
   * case.
   */
  readonly maxRequestsPerBroker: number;
  /** Wait in ms before each repeat of a failed batch. After the last repeat, the callers get the failure. */
  readonly retryWaitsMs: readonly number[];
}

export interface LaneClock {
  now(): number;
  /** Calls a function after so many milliseconds. @returns a function that cancels the call */
  after(ms: number, run: () => void): () => void;
  /** Calls a function after the pending events of the event loop. */
  soon(run: () => void): void;
}

interface Broker {
  readonly ready: Lane[];
  requests: number;
  woken: boolean;
}

interface Part {
  readonly lane: Lane;
  readonly entries: readonly Entry[];
}

/**
 * Group commit. Each partition has a lane, and each lane has at most one send in flight. Records that arrive during a send
 * form the next batch. Batches therefore grow with the load, and no record waits for a timer. Lanes with the same leader
 * share a request. Lanes with different leaders never do, so a broker that hangs delays only its own partitions.
 *
 * A failed send is repeated a few times, each lane in a request of its own. A batch that the broker refuses is split until
 * the refused record is alone. If a record passes its deadline, its call is rejected with `timeout` and the record is not
 * sent again. Its lane stays busy until the send in flight has ended, because a second send could overtake the first.
 */
export class Lanes {
  readonly #lanes = new Map<string, Map<number, Lane>>();
  readonly #brokers = new Map<number, Broker>();
  /** Entries whose callers have no answer yet, in the order of their deadlines. */
  readonly #open = new Set<Entry>();
  #bytes = 0;
  #alarm: (() => void) | undefined;
  #onIdle: (() => void) | undefined;

  constructor(
    private readonly send: Send,
    private readonly leaderOf: (topic: string, partition: number) => number,
    private readonly settings: LaneSettings,
    private readonly clock: LaneClock,
  ) {}

  get waitingBytes(): number {
    return this.#bytes;
  }

  add(record: OutgoingRecord, partition: number): Promise<number | undefined> {
    const bytes = sizeOf(record);
    if (this.#bytes + bytes > this.settings.maxWaitingBytes) {
      return Promise.reject(new PublishFailed('overloaded', `${this.#bytes} bytes wait for Kafka already`));
    }
    return new Promise((resolve, reject) => {
      const lane = this.#laneOf(record.topic, partition);
      const deadline = this.clock.now() + this.settings.deadlineMs;
      const entry: Entry = { record, bytes, deadline, lane, resolve, reject, isolation: 0, answered: false };
      this.#bytes += bytes;
      this.#open.add(entry);
      this.#alarm ??= this.clock.after(this.settings.deadlineMs, () => this.#expire());
      lane.waiting.push(entry);
      if (!lane.busy) this.#ready(lane);
    });
  }

  /** Resolves when every caller has an answer. */
  async idle(): Promise<void> {
    if (this.#open.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
  }

  #laneOf(topic: string, partition: number): Lane {
    let lanes = this.#lanes.get(topic);
    if (lanes === undefined) this.#lanes.set(topic, (lanes = new Map<number, Lane>()));
    let lane = lanes.get(partition);
    if (lane === undefined) {
      lane = { topic, partition, waiting: [], busy: false, failures: 0 };
      lanes.set(partition, lane);
    }
    return lane;
  }

  #ready(lane: Lane): void {
    const leader = this.leaderOf(lane.topic, lane.partition);
    let broker = this.#brokers.get(leader);
    if (broker === undefined) this.#brokers.set(leader, (broker = { ready: [], requests: 0, woken: false }));
    lane.busy = true;
    broker.ready.push(lane);
    this.#wake(broker);
  }

  #wake(broker: Broker): void {
    if (broker.woken || broker.ready.length === 0 || broker.requests >= this.settings.maxRequestsPerBroker) return;
    broker.woken = true;
    this.clock.soon(() => {
      broker.woken = false;
      const parts = this.#take(broker);
      if (parts.length > 0) void this.#transmit(broker, parts);
      this.#wake(broker);
    });
  }

  #take(broker: Broker): Part[] {
    const parts: Part[] = [];
    let bytes = 0;
    for (let lane = broker.ready[0]; lane !== undefined; lane = broker.ready[0]) {
      const isAlone = (lane.waiting[0]?.isolation ?? 0) > 0;
      if (parts.length > 0 && (isAlone || bytes >= this.settings.maxRequestBytes)) break;
      broker.ready.shift();
      const entries = takeBatch(lane, this.settings);
      if (entries.length === 0) {
        lane.busy = false; // all waiting records have passed their deadlines
        continue;
      }
      parts.push({ lane, entries });
      for (const entry of entries) bytes += entry.bytes;
      if (isAlone) break;
    }
    return parts;
  }

  async #transmit(broker: Broker, parts: readonly Part[]): Promise<void> {
    broker.requests += 1;
    const batches = parts.map(({ lane, entries }) => ({
      topic: lane.topic,
      partition: lane.partition,
      records: entries.map((entry) => entry.record),
    }));
    const sent = await this.send(batches).catch(asFailure);
    broker.requests -= 1;
    for (const [index, part] of parts.entries()) {
      if (sent instanceof PublishFailed) this.#failed(part, sent, parts.length > 1);
      else this.#sent(part, sent[index]);
    }
    this.#wake(broker);
  }

  #sent({ lane, entries }: Part, base: number | undefined): void {
    lane.failures = 0;
    for (const [index, entry] of entries.entries())
      this.#end(entry, undefined, base === undefined ? undefined : base + index);
    this.#free(lane);
  }

  #failed({ lane, entries }: Part, failure: PublishFailed, wasShared: boolean): void {
    if (failure.retryable) {
      const wait = this.settings.retryWaitsMs[lane.failures];
      if (wait !== undefined) {
        lane.failures += 1;
        this.#again(lane, entries, 1);
        this.clock.after(wait, () => this.#free(lane));
        return;
      }
    } else if (wasShared || entries.length > 1) {
      this.#again(lane, entries, wasShared ? 1 : 2);
      this.#free(lane);
      return;
    }
    lane.failures = 0;
    for (const entry of entries) this.#end(entry, failure);
    this.#free(lane);
  }

  #again(lane: Lane, entries: readonly Entry[], isolation: Isolation): void {
    for (const entry of entries) if (entry.answered) this.#bytes -= entry.bytes;
    putBack(lane, entries, isolation);
  }

  #free(lane: Lane): void {
    if (lane.waiting.length > 0) this.#ready(lane);
    else lane.busy = false;
  }

  #end(entry: Entry, failure?: PublishFailed, offset?: number): void {
    this.#bytes -= entry.bytes;
    this.#answer(entry, failure, offset);
  }

  #answer(entry: Entry, failure?: PublishFailed, offset?: number): void {
    if (entry.answered) return;
    entry.answered = true;
    if (failure === undefined) entry.resolve(offset);
    else entry.reject(failure);
    this.#open.delete(entry);
    if (this.#open.size > 0) return;
    this.#alarm?.();
    this.#alarm = undefined;
    this.#onIdle?.();
  }

  /** Rejects expired entries. One timer is enough: all calls have the same deadline, so the oldest entry expires first. */
  #expire(): void {
    this.#alarm = undefined;
    const now = this.clock.now();
    for (const entry of this.#open) {
      if (entry.deadline > now) {
        this.#alarm = this.clock.after(entry.deadline - now, () => this.#expire());
        return;
      }
      const at = entry.lane.waiting.indexOf(entry);
      if (at >= 0) {
        entry.lane.waiting.splice(at, 1);
        this.#bytes -= entry.bytes;
      }
      this.#answer(entry, timeoutOf(entry, at >= 0, this.settings.deadlineMs));
    }
  }
}

function timeoutOf({ record }: Entry, wasWaiting: boolean, deadlineMs: number): PublishFailed {
  const where = wasWaiting ? 'was not sent' : 'was sent but not acknowledged';
  return new PublishFailed('timeout', `A record for ${record.topic} ${where} within ${deadlineMs} ms`);
}

const asFailure = (error: unknown): PublishFailed =>
  error instanceof PublishFailed ? error : new PublishFailed('unavailable', 'The send failed', error);

/**
 * How a record is isolated after a failed send, so that it and other records cannot make each other fail again:
 * 0 = sent together with other lanes, 1 = its lane is sent alone, 2 = the record is sent alone.
 */
type Isolation = 0 | 1 | 2;

/** A record and the caller that waits for it. */
interface Entry {
  readonly record: OutgoingRecord;
  readonly bytes: number;
  /** Time by the clock of the lanes, in ms, after which the record is no longer sent. */
  readonly deadline: number;
  readonly lane: Lane;
  readonly resolve: (offset: number | undefined) => void;
  readonly reject: (error: Error) => void;
  isolation: Isolation;
  answered: boolean;
}

/**
 * The records of one partition, in order. `busy` is true while some of them wait for their turn at the broker, are being
 * sent, or wait for a repeat.
 */
interface Lane {
  readonly topic: string;
  readonly partition: number;
  readonly waiting: Entry[];
  busy: boolean;
  /** Number of failed sends in a row. */
  failures: number;
}

// Estimated memory of a record besides key, value and headers, for example the promise of the caller.
const RECORD_OVERHEAD = 128;

function sizeOf(record: OutgoingRecord): number {
  let bytes = RECORD_OVERHEAD + record.key.length + record.value.length;
  for (const name in record.headers) bytes += name.length + (record.headers[name]?.length ?? 0);
  return bytes;
}

/** Removes the next batch from a lane: as many records as bounds and isolation allow, and at least one if any waits. */
function takeBatch(lane: Lane, bounds: Pick<LaneSettings, 'maxBatchBytes' | 'maxBatchRecords'>): Entry[] {
  const { waiting } = lane;
  const alone = waiting[0]?.isolation === 2;
  let bytes = 0;
  let count = 0;
  for (const entry of waiting) {
    bytes += entry.bytes;
    const fits = count < bounds.maxBatchRecords && bytes <= bounds.maxBatchBytes;
    if (count > 0 && (!fits || alone || entry.isolation === 2)) break;
    count += 1;
  }
  return waiting.splice(0, count);
}

/**
 * Puts records back at the front of their lane. Records whose callers already have an answer are left out: they are not sent
 * again.
 */
function putBack(lane: Lane, entries: readonly Entry[], isolation: Isolation): void {
  const again = entries.filter((entry) => !entry.answered);
  for (const entry of again) entry.isolation = isolation;
  lane.waiting.unshift(...again);
}
