import { NO_WEBHOOK } from '@relay/jobs';
import type { ReplayRange } from '@relay/replays';
import type { MemoryState } from '@relay/testing';
import { PARTITIONS, topicOf } from './simulated-group.js';

/** What the log holds of an envelope, or of a record that is none. */
export interface Appended {
  readonly text: string;
  readonly kind: 'first' | 'repeat' | 'conflict' | 'poison';
  readonly urls: readonly { webhookId: string; url: string }[];
  /** Number of the shard that the record belongs to. */
  readonly shard: number;
}

/** A replay, and how often each delivery had come before it was ordered. */
interface Order {
  readonly webhookId: string;
  readonly ranges: readonly ReplayRange[];
  readonly before: ReadonlyMap<string, number>;
}

/** What was appended to the log and what endpoints received: the promise is held against it. */
export class Ledger {
  #appended: Appended[][] = PARTITIONS.map(() => []);
  readonly #received = new Map<string, number>();
  readonly #orders = new Map<string, Order>();
  /** Redis may have forgotten which content came first. */
  wentBack = false;
  /** Id of the topic once it was made anew. */
  #topicId: string | undefined;

  constructor(
    private readonly states: readonly MemoryState[],
    private readonly global: MemoryState,
    private readonly putAside: ReadonlySet<string>,
    /** Webhooks of which nobody is owed anything any more. */
    private readonly deleted: ReadonlySet<string>,
  ) {}

  order(key: string, webhookId: string, ranges: readonly ReplayRange[]): void {
    this.#orders.set(key, { webhookId, ranges, before: new Map(this.#received) });
  }

  /** Redis went back: orders that it does not know any more were never made, or have ended. */
  forgetOrders(): void {
    for (const key of this.#orders.keys())
      if (!this.global.now.replays.has(key) && !this.global.now.ended.has(key)) this.#orders.delete(key);
  }

  /** The log of before is gone, with what nobody had read of it and what waited in it. */
  madeAnew(topicId: string): void {
    this.#topicId = topicId;
    this.#appended = PARTITIONS.map(() => []);
  }

  /** Whether the store's progress is that of the present log. Before the first flush it names none. */
  isOfLog(partition: number, shard: number): boolean {
    const { read, highWater } = this.states[shard]?.now.progress.get(this.#nameOf(partition, shard)) ?? {};
    const [topicId] = read?.topicIds ?? [];
    return this.#topicId === undefined || (read === undefined ? (highWater ?? 0) === 0 : topicId === this.#topicId);
  }

  kindOf(partition: number, id: string, text: string): Appended['kind'] {
    const [first] = this.#appended[partition]?.filter((entry) => entry.text.includes(`{"id":"${id}","type"`)) ?? [];
    return first === undefined ? 'first' : first.text === text ? 'repeat' : 'conflict';
  }

  put(partition: number, entry: Appended): void {
    this.#appended[partition]?.push(entry);
  }

  receive(url: string, body: string, faults: number): void {
    const key = `${url} ${body}`;
    this.#received.set(key, (this.#received.get(key) ?? 0) + 1);
    if (faults === 0 && this.#orders.size === 0 && this.#received.get(key) !== 1)
      throw new Error(`delivered twice without a fault: ${key}`);
  }

  /** What the store calls settled is delivered, queued or a dead letter: the promise, at this very moment. */
  check(): void {
    for (const partition of PARTITIONS) {
      for (const shard of this.states.keys()) {
        if (!this.isOfLog(partition, shard)) continue;
        const highWater = this.highWaterOf(partition, shard) ?? 0;
        const settled = this.#appended[partition]?.slice(0, highWater) ?? [];
        for (const [offset, entry] of settled.entries()) {
          const lost = entry.shard === shard ? this.#missing(entry, partition) : undefined;
          if (lost !== undefined)
            throw new Error(`the high water of ${partition}/${shard} is ${highWater}, but ${offset} is lost: ${lost}`);
        }
      }
    }
  }

  /** Everything of the log is delivered or dead, once all is well again. */
  checkEnd(): void {
    for (const [partition, entries] of this.#appended.entries()) {
      for (const shard of this.states.keys()) {
        if (!this.isOfLog(partition, shard))
          throw new Error(`${partition}/${shard} is read as the log of an earlier topic`);
        const highWater = this.highWaterOf(partition, shard) ?? 0;
        if (highWater !== entries.length)
          throw new Error(`the high water of ${partition}/${shard} ends at ${highWater} of ${entries.length}`);
      }
    }
    const jobs = this.states.reduce((sum, { now }) => sum + now.jobs.size, 0);
    if (jobs > 0) throw new Error(`${jobs} jobs are left`);
    if (this.isAnyParked) throw new Error('a webhook is parked still');
    for (const [key, order] of this.#orders) this.#checkOrder(key, order);
  }

  /** Every record of a replay came once more to its webhook, or is a dead letter. */
  #checkOrder(key: string, { webhookId, ranges, before }: Order): void {
    if (this.deleted.has(webhookId)) return;
    if (this.global.now.replays.has(key)) throw new Error(`${key} has not ended`);
    for (const { partition, from, end } of ranges) {
      const entries = this.#appended[partition] ?? [];
      for (const { kind, text, urls } of entries.slice(from, end)) {
        const url = urls.find((each) => each.webhookId === webhookId)?.url;
        if (kind !== 'first' || url === undefined || this.#hasConflict(entries, text)) continue;
        const [came, cameBefore] = [this.#received, before].map((counts) => counts.get(`${url} ${text}`) ?? 0);
        if (came === cameBefore && !this.#isDead(webhookId, text)) throw new Error(`${key} never brought ${text}`);
      }
    }
  }

  /** A Redis that went back may have taken the other content for the first. */
  #hasConflict(entries: readonly Appended[], text: string): boolean {
    const { id } = JSON.parse(text) as { id: string };
    return this.wentBack && entries.some(({ kind, text: other }) => kind === 'conflict' && other.includes(id));
  }

  #isDead(webhookId: string, text: string): boolean {
    return this.states.some(({ now }) =>
      [...now.deadLetters.values()].some((letter) => letter.webhookId === webhookId && letter.body === text),
    );
  }

  get isAnyParked(): boolean {
    return this.states.some(({ now }) => [...now.parking.values()].some(({ ranges }) => ranges.size > 0));
  }

  highWaterOf(partition: number, shard: number): number | undefined {
    const name = this.#nameOf(partition, shard);
    return this.states.map(({ now }) => now.progress.get(name)).find((found) => found !== undefined)?.highWater;
  }

  #nameOf(partition: number, shard: number): string {
    return `${topicOf(partition)}/${partition}${this.states.length === 1 ? '' : `/${shard}`}`;
  }

  /** A record with this text waits in the log for the webhook. */
  #isWaiting(partition: number, shard: number, webhookId: string, text: string): boolean {
    const { ranges, dropped } = this.states[shard]?.now.parking.get(this.#nameOf(partition, shard)) ?? {};
    const own = ranges?.get(webhookId) ?? [];
    return (this.#appended[partition] ?? []).some(
      (entry, offset) =>
        entry.text === text &&
        dropped?.has(offset) !== true &&
        own.some(({ from, to = Infinity }) => from <= offset && offset < to),
    );
  }

  #missing({ kind, text, urls, shard }: Appended, partition: number): string | undefined {
    if (kind === 'poison') return this.putAside.has(text) ? undefined : text;
    // No fault of the relay itself is in these histories.
    const kept = this.states.flatMap(({ now }) => [
      ...now.jobs.values(),
      ...[...now.deadLetters.values()].filter(({ reason }) => reason !== 'handling_failed'),
    ]);
    const held = (webhookId: string): boolean => kept.some((job) => job.webhookId === webhookId && job.body === text);
    const isReceived = urls.some(({ url }) => this.#received.has(`${url} ${text}`));
    if (kind === 'conflict' && isReceived && !this.wentBack)
      return `delivered although its id was used before: ${text}`;
    // A Redis that went back may have forgotten which content came first: then both may be delivered, and none is lost.
    if (held(NO_WEBHOOK) && (kind === 'conflict' || this.wentBack)) return undefined;
    if (kind === 'conflict' && !this.wentBack) return `no dead letter of the conflict ${text}`;
    const missing = urls.find(
      ({ webhookId, url }) =>
        !this.deleted.has(webhookId) &&
        !this.#received.has(`${url} ${text}`) &&
        !held(webhookId) &&
        !this.#isWaiting(partition, shard, webhookId, text),
    );
    return missing === undefined ? undefined : `${missing.url} never got ${text}`;
  }

  /** Deliveries to one URL. */
  deliveriesTo(url: string): number {
    return [...this.#received.keys()].filter((key) => key.startsWith(`${url} `)).length;
  }

  get deliveries(): number {
    return this.#received.size;
  }

  get duplicates(): number {
    return [...this.#received.values()].reduce((sum, count) => sum + count - 1, 0);
  }
}
