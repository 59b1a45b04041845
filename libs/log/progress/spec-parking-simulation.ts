import { ParkedRanges, type CatchUpRange } from './parked-ranges.js';
import { NOTHING_PARKED, type ParkedRange, type Parking } from './parking.js';
import { isReplay, readRangeKey } from './range-key.js';
import { Tracker } from './tracker.js';

export const WEBHOOKS = ['a', 'b'] as const;
export const REPLAYS = ['a/1000', 'b/2000', 'b/3000'] as const;
export const ENVELOPES = 6;
/** Offsets of one pass. */
export const PASS = 6;

interface Pass {
  at: number;
  readonly end: number;
  /** By key; fewer and fewer, where it may not be caught up any more. */
  readonly members: Map<string, CatchUpRange>;
}

/** What survives a crash. */
interface Store {
  highWater: number;
  /** Envelopes by number: begun, settled. */
  begun: Set<number>;
  settled: Set<number>;
  parking: Parking;
}

/**
 * One partition and its reader: the log holds envelopes by number, a negative one is a conflict of the same number. What is
 * live ends in any order or is cut off by a crash, and marks, ranges and high water are written together or not at all.
 */
export class Simulation {
  readonly log: number[] = [];
  readonly delivered = new Map<string, number>();
  readonly congested = new Set<string>();
  readonly disabled = new Set<string>();
  /** Offsets that a replay was ordered for. */
  readonly #ordered = new Map<string, { from: number; to: number }>();
  crashes = 0;
  store: Store = { highWater: 0, begun: new Set(), settled: new Set(), parking: NOTHING_PARKED };
  #tracker = new Tracker(0);
  #parked = new ParkedRanges();
  #settled = new Set<number>();
  #live: { offset: number; envelope: number; left: string[] }[] = [];
  #caught: { key: string; range: CatchUpRange; offset: number }[] = [];
  /** By the keys that each is for. */
  readonly #passes = new Map<readonly string[], Pass>();

  handOut(): void {
    const offset = this.#tracker.next;
    const envelope = this.log[offset];
    if (envelope === undefined) return;
    this.#tracker.accept(offset);
    const isLive = this.#live.some((live) => live.envelope === envelope);
    if (envelope < 0 || isLive || this.#settled.has(envelope) || this.store.settled.has(envelope)) {
      this.#parked.drop(offset);
      this.#tracker.settle(offset);
      return;
    }
    const isNew = !this.store.begun.has(envelope);
    this.store.begun.add(envelope);
    const left = WEBHOOKS.filter((webhook) => {
      if ((isNew && this.congested.has(webhook)) || this.disabled.has(webhook)) this.#parked.park(webhook, offset);
      return !this.#parked.isParked(webhook, offset);
    });
    this.#live.push({ offset, envelope, left });
  }

  end(index: number): void {
    const [live] = this.#live.splice(index % Math.max(1, this.#live.length), 1);
    if (live === undefined) return;
    for (const webhook of live.left) this.#deliver(webhook, live.envelope);
    this.#settled.add(live.envelope);
    this.#tracker.settle(live.offset);
  }

  /** What the ingress writes: the owner of the partition does not know of it yet. */
  order(key: string, from: number, length: number): void {
    const range = { from, to: Math.min(from + length, this.log.length) };
    if (this.#ordered.has(key) || range.from >= range.to) return;
    this.#ordered.set(key, range);
    const { parking } = this.store;
    this.store.parking = {
      ...parking,
      ranges: new Map([...parking.ranges, [key, [range]]]),
      replays: new Map([...parking.replays, [key, { done: 0, failed: 0 }]]),
    };
  }

  takeUp(key: string): void {
    const { ranges, replays } = this.store.parking;
    const counts = replays.get(key);
    if (counts !== undefined) this.#parked.replay(key, ranges.get(key) ?? [], counts);
  }

  /** A pass over the log goes on, or begins, for those of these keys that may be caught up. */
  catchUp(keys: readonly string[], count: number): void {
    const pass = this.#passes.get(keys) ?? this.#begun(keys);
    if (pass === undefined) return;
    const end = Math.min(pass.end, pass.at + count);
    for (; pass.at < end; pass.at += 1)
      for (const [key, range] of pass.members) {
        if (!this.#mayGet(key)) pass.members.delete(key);
        else if (this.#isWanted(key, pass.at) && range.begin(pass.at))
          this.#caught.push({ key, range, offset: pass.at });
      }
    if (end < pass.end) return;
    for (const range of pass.members.values()) range.passed(end);
    this.#passes.delete(keys);
  }

  #begun(keys: readonly string[]): Pass | undefined {
    const members = new Map<string, CatchUpRange>();
    for (const key of keys) {
      const range = this.#mayGet(key) ? this.#parked.catchUp(key) : undefined;
      if (range !== undefined) members.set(key, range);
    }
    const at = Math.min(...[...members.values()].map(({ from }) => from));
    const end = Math.min(this.#tracker.next, at + PASS);
    if (!(at < end)) return undefined;
    const pass = { at, end, members };
    this.#passes.set(keys, pass);
    return pass;
  }

  #mayGet(key: string): boolean {
    const { webhookId } = readRangeKey(key);
    return !this.congested.has(webhookId) && !this.disabled.has(webhookId);
  }

  /** Of a replay repeats and conflicts are found by its pass. */
  #isWanted(key: string, offset: number): boolean {
    const ordered = this.#ordered.get(key);
    return ordered === undefined || this.#firsts(ordered.from, ordered.to).includes(offset);
  }

  /** Offsets of the envelopes that are first in this part of the log. */
  #firsts(from: number, to: number): number[] {
    const part = this.log.slice(from, to);
    return part.flatMap((envelope, index) => (envelope > 0 && part.indexOf(envelope) === index ? [from + index] : []));
  }

  endCaught(index: number): void {
    const [caught] = this.#caught.splice(index % Math.max(1, this.#caught.length), 1);
    if (caught === undefined) return;
    this.#deliver(caught.key, this.log[caught.offset] ?? 0);
    caught.range.settle(caught.offset, caught.offset % 3 > 0);
  }

  close(webhook: string): void {
    if (!this.congested.has(webhook) && !this.disabled.has(webhook)) this.#parked.close(webhook, this.#tracker.next);
  }

  flush(isWritten: boolean): void {
    const parking = this.#parked.take(this.#tracker.next);
    if (!isWritten) {
      if (parking !== undefined) this.#parked.putBack(parking);
      return;
    }
    for (const envelope of this.#settled) this.store.settled.add(envelope);
    this.#settled.clear();
    this.store.highWater = this.#tracker.highWater;
    if (parking === undefined) return;
    const ranges = new Map<string, readonly ParkedRange[]>(this.store.parking.ranges);
    for (const [webhook, own] of parking.changed)
      if (own.length === 0) ranges.delete(webhook);
      else ranges.set(webhook, own);
    const replays = new Map(this.store.parking.replays);
    for (const [key, counts] of parking.replays) replays.set(key, counts);
    const dropped = [...this.store.parking.dropped, ...parking.dropped];
    const kept = dropped.filter((offset) => offset >= (parking.keptFrom ?? Infinity));
    this.store.parking = { ranges, replays, dropped: kept, next: parking.next };
  }

  crash(): void {
    this.crashes += 1;
    this.#tracker = new Tracker(this.store.highWater);
    const { ranges, replays, ...rest } = this.store.parking;
    const left = [...replays].filter(([key]) => ranges.has(key));
    this.#parked = new ParkedRanges({ ...rest, ranges, replays: new Map(left) });
    this.#settled.clear();
    this.#live = [];
    this.#caught = [];
    this.#passes.clear();
  }

  #deliver(webhook: string, envelope: number): void {
    if (envelope < 0) throw new Error(`a conflict of ${-envelope} was delivered to ${webhook}`);
    const key = `${webhook} ${envelope}`;
    const times = (this.delivered.get(key) ?? 0) + 1;
    this.delivered.set(key, times);
    if (times > 1 && this.crashes === 0 && !isReplay(webhook))
      throw new Error(`${envelope} was delivered twice to ${webhook}`);
  }

  /** What the store calls settled is delivered or waits in a stored range. */
  check(): void {
    const { highWater, parking } = this.store;
    for (const envelope of new Set(this.log.slice(0, highWater).filter((number) => number > 0)))
      for (const webhook of WEBHOOKS) {
        if (this.delivered.has(`${webhook} ${envelope}`)) continue;
        const isWaiting = this.log.some(
          (number, offset) =>
            number === envelope &&
            !parking.dropped.includes(offset) &&
            parking.ranges.get(webhook)?.some(({ from, to = Infinity }) => from <= offset && offset < to),
        );
        if (!isWaiting) throw new Error(`${envelope} is lost for ${webhook}`);
      }
    for (const [key, { from, to }] of this.#ordered)
      for (const offset of this.#firsts(0, to).filter((first) => first >= from)) {
        const isWaiting = parking.ranges.get(key)?.some((range) => range.from <= offset && offset < (range.to ?? 0));
        if (isWaiting !== true && !this.delivered.has(`${key} ${this.log[offset]}`))
          throw new Error(`${this.log[offset]} is lost for the replay ${key}`);
      }
  }

  /** Each delivery of a replay is counted once, whatever was made twice; a repeat of what came before it may be one or not. */
  checkCounts(): void {
    for (const [key, { from, to }] of this.#ordered) {
      const { done = 0, failed = 0 } = this.store.parking.replays.get(key) ?? {};
      const least = this.#firsts(0, to).filter((first) => first >= from);
      const most = this.#firsts(from, to);
      for (const [name, counted, isCounted] of [
        ['failed', failed, (offset: number) => offset % 3 === 0],
        ['done', done, (offset: number) => offset % 3 > 0],
      ] as const)
        if (counted < least.filter(isCounted).length || counted > most.filter(isCounted).length)
          throw new Error(`${counted} of ${key} counted as ${name}`);
    }
  }

  /** All is well again, until nothing is left to do. @returns what is left all the same */
  heal(): { unsettled: number; ranges: number; waiting: number } {
    this.congested.clear();
    this.disabled.clear();
    for (let round = 0; round < 100; round += 1) {
      this.handOut();
      this.end(0);
      for (const key of REPLAYS) this.takeUp(key);
      for (const keys of [REPLAYS, WEBHOOKS]) this.catchUp(keys, 100);
      for (const webhook of WEBHOOKS) if (this.#tracker.next === this.log.length) this.close(webhook);
      while (this.#caught.length > 0) this.endCaught(0);
      this.flush(true);
    }
    this.check();
    this.checkCounts();
    return {
      unsettled: this.log.length - this.store.highWater,
      ranges: this.store.parking.ranges.size,
      waiting: this.#parked.waiting(this.#tracker.next),
    };
  }
}
