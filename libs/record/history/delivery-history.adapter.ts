import { randomUUID } from 'node:crypto';
import { type PerShard, runScript, type Shard, type Shards } from '@relay/redis';
import type { ChainableCommander } from 'ioredis';
import {
  type DeliveredLine,
  foldOf,
  type HistoryLine,
  type HistoryPeriod,
  HOUR_MS,
  lineOf,
  newestFirst,
  placeOf,
  RESTS,
  shortOf,
  type StreamEntry,
  textOf,
  WEBHOOKS_FROM,
} from './history-line.js';
import { addLines } from './history.script.js';

/** Number of bytes that the fixed-length fields of a packed line take. */
const HEAD_BYTES = 13;
/** Number of streams that are read in one pipeline. Other commands wait for the pipeline, so it is kept short. */
const SLICE = 100;
/**
 * Maximum number of deliveries in the answer for one envelope. Without it, a partner who has many webhooks and replays an
 * envelope to all of them repeatedly could make an answer too large.
 */
const DELIVERIES_OF_ENVELOPE = 1_000;

/** The history of one shard's envelopes. The `place` of a line is its place in this shard. */
export class ShardHistory {
  /** Salt of the hash of envelope ids. The process makes one up, and uses the salt in Redis instead if there is one. */
  #salt: string = randomUUID();

  constructor(
    private readonly shard: Shard,
    private readonly windowMs: number,
  ) {}

  #key(...parts: readonly (string | number)[]): string {
    return this.shard.key('history', ...parts);
  }

  async add(lines: readonly DeliveredLine[]): Promise<void> {
    if (lines.length === 0) return;
    for (;;) {
      const salt = this.#salt;
      const webhooks = [...new Set(lines.map(({ webhookId }) => webhookId))];
      const args = [this.windowMs, salt, packedLines(lines, webhooks, salt), ...webhooks];
      const inUse = String(await runScript(this.shard.redis, addLines, [this.#key()], args));
      if (inUse === salt) return;
      this.#salt = inUse;
    }
  }

  /** Returns the lines of a webhook, newest first. */
  async ofWebhook(webhookId: string, period: HistoryPeriod, limit: number): Promise<HistoryLine[]> {
    const oldest = Math.max(period.since ?? 0, (await this.#now()) - this.windowMs);
    const end = endOf(period);
    if (end === undefined) return [];
    const entries = await this.shard.redis.xrevrange(this.#key(webhookId), end, oldest, 'COUNT', limit);
    return entries.map((entry) => lineOf(webhookId, entry));
  }

  /**
   * Returns the deliveries of an envelope to these webhooks, newest first, at most 1,000. Each replay of the envelope has a
   * line of its own.
   */
  async ofEnvelope(envelopeId: string, webhookIds: readonly string[]): Promise<HistoryLine[]> {
    const moments = await this.#momentsOf(envelopeId);
    if (moments.length === 0) return [];
    const byFold = new Map<number, string[]>();
    for (const id of webhookIds) byFold.set(foldOf(id), [...(byFold.get(foldOf(id)) ?? []), id]);
    const asked = moments
      .flatMap(({ at, fold }) => (byFold.get(fold) ?? []).map((webhookId) => ({ at, webhookId })))
      .toSorted((a, b) => b.at - a.at)
      .slice(0, DELIVERIES_OF_ENVELOPE);
    const found: StreamEntry[][] = [];
    for (let from = 0; from < asked.length; from += SLICE) {
      const pipeline = this.shard.redis.pipeline();
      for (const { at, webhookId } of asked.slice(from, from + SLICE)) pipeline.xrange(this.#key(webhookId), at, at);
      found.push(...((await repliesOf(pipeline)) as StreamEntry[][]));
    }
    const lines = asked
      .flatMap(({ webhookId }, index) => (found[index] ?? []).map((entry) => lineOf(webhookId, entry)))
      .filter((line) => line.envelopeId === envelopeId);
    return firstsOf(lines)
      .toSorted((a, b) => b.endedAt - a.endedAt)
      .slice(0, DELIVERIES_OF_ENVELOPE);
  }

  /**
   * Returns when deliveries of this envelope ended, each with the hash of its webhook. Other envelopes with the same hash
   * are included.
   */
  async #momentsOf(envelopeId: string): Promise<{ at: number; fold: number }[]> {
    const [now, salt] = await Promise.all([this.#now(), this.shard.redis.get(this.#key('salt'))]);
    if (salt === null) return [];
    const { bucket, rest } = placeOf(salt, envelopeId);
    const newest = Math.floor(now / HOUR_MS);
    const hours = Array.from({ length: Math.ceil(this.windowMs / HOUR_MS) + 1 }, (_, back) => newest - back);
    const pipeline = this.shard.redis.pipeline();
    for (const hour of hours) pipeline.lrange(this.#key('of', hour, bucket), 0, -1);
    const lists = (await repliesOf(pipeline)) as string[][];
    const moments = lists.flatMap((entries, index) =>
      [...new Set(entries)]
        .map(Number)
        .filter((entry) => entry % RESTS === rest)
        .map((entry) => ({
          at: (hours[index] ?? 0) * HOUR_MS + Math.floor((entry % WEBHOOKS_FROM) / RESTS),
          fold: Math.floor(entry / WEBHOOKS_FROM),
        })),
    );
    return moments.filter(({ at }) => at > now - this.windowMs);
  }

  async #now(): Promise<number> {
    const [seconds, micros] = await this.shard.redis.time();
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  }
}

/**
 * Packs lines into one argument, because ioredis spends more on each argument than on its bytes. A packed line has these
 * fields: number of its webhook, bucket, rest, and hash of the webhook (two bytes each), length of the short id (one byte),
 * short id, length of the attempts (four bytes), attempts.
 */
function packedLines(lines: readonly DeliveredLine[], webhooks: readonly string[], salt: string): Buffer {
  const numbers = new Map(webhooks.map((id, number) => [id, number]));
  const parts = lines.map((line) => {
    const { webhookId, envelopeId } = line;
    const [short, text] = [shortOf(envelopeId), textOf(line)];
    const { bucket, rest } = placeOf(salt, envelopeId);
    const textBytes = Buffer.byteLength(text);
    const bytes = Buffer.allocUnsafe(HEAD_BYTES + short.length + textBytes);
    let at = bytes.writeUInt16BE(numbers.get(webhookId) ?? 0);
    at = bytes.writeUInt16BE(bucket, at);
    at = bytes.writeUInt16BE(rest, at);
    at = bytes.writeUInt16BE(foldOf(webhookId), at);
    at = bytes.writeUInt8(short.length, at);
    at += bytes.write(short, at, 'latin1');
    at = bytes.writeUInt32BE(textBytes, at);
    bytes.write(text, at);
    return bytes;
  });
  return Buffer.concat(parts);
}

/** Returns the end of the range of stream ids to read; undefined if the range is empty. */
function endOf({ until, before }: HistoryPeriod): string | undefined {
  // Redis rejects an exclusive end at the lowest possible id.
  if (before?.endedAt === 0 && before.place === 0) return undefined;
  if (before !== undefined && before.endedAt < (until ?? Infinity)) return `(${before.endedAt}-${before.place}`;
  if (until === undefined) return '+';
  return until > 0 ? `(${until}-0` : undefined;
}

/** Removes repeated lines. If the acknowledgement of a batch is lost, the batch is written again with the same attempts. */
function firstsOf(lines: readonly HistoryLine[]): HistoryLine[] {
  const begun = new Set<string>();
  return lines.filter(({ webhookId, attempts }) => {
    const name = `${webhookId} ${attempts.at(-1)?.at}`;
    const isFirst = !begun.has(name);
    begun.add(name);
    return isFirst;
  });
}

/** Returns the replies to the commands of a pipeline. Rejects with the first error among them. */
export async function repliesOf(pipeline: ChainableCommander): Promise<unknown[]> {
  return ((await pipeline.exec()) ?? []).map(([error, reply]) => {
    if (error !== null) throw error;
    return reply;
  });
}

/**
 * Converts between the places of lines in one shard and their places among the lines of all shards. Each shard numbers the
 * lines of a millisecond from 0 on. With n shards, line p of shard k gets the place `p · n + k`, so no two lines of a
 * webhook have the same place. With one shard, the places do not change.
 */
export function placesIn({ all }: Shards, shard: Shard) {
  const [number, count] = [all.indexOf(shard), all.length];
  return {
    /** Returns a line of this shard with its place among the lines of all shards. */
    amongAll: (line: HistoryLine): HistoryLine => ({ ...line, place: line.place * count + number }),
    /** Returns the lowest place in this shard that is at or after the given place when it is converted by `amongAll`. */
    inShard: (place: number): number => Math.max(0, Math.ceil((place - number) / count)),
  };
}

export type Places = ReturnType<typeof placesIn>;

/**
 * The first request to each shard asks for this many times its even share of a page. Ids are spread over the shards at
 * random, so a second request is rarely needed.
 */
const OF_SHARE = 2;

/** The history in Redis over all shards. The caller must check that it may read the webhook or the envelope. */
export class RedisDeliveryHistory {
  readonly #parts: PerShard<{ readonly history: ShardHistory; readonly places: Places }>;

  constructor(shards: Shards, windowMs: number) {
    this.#parts = shards.per((shard) => ({
      history: new ShardHistory(shard, windowMs),
      places: placesIn(shards, shard),
    }));
  }

  /** Returns the lines of a webhook, newest first. */
  async ofWebhook(webhookId: string, period: HistoryPeriod, limit: number): Promise<HistoryLine[]> {
    const { all } = this.#parts;
    const lists = all.map(({ history, places }): SortedList<HistoryLine> => async (last, count) => {
      const after = last ?? period.before;
      const before = after && { endedAt: after.endedAt, place: places.inShard(after.place) };
      const lines = await history.ofWebhook(webhookId, { ...period, before }, count);
      return lines.map((line) => places.amongAll(line));
    });
    const lines: HistoryLine[] = [];
    const count = Math.min(limit, OF_SHARE * Math.ceil(limit / all.length));
    for await (const line of merged(lists, newestFirst, count)) if (lines.push(line) === limit) break;
    return lines;
  }

  /**
   * Returns the deliveries of an envelope to these webhooks, newest first, at most 1,000. Each replay of the envelope has a
   * line of its own.
   */
  async ofEnvelope(envelopeId: string, webhookIds: readonly string[]): Promise<HistoryLine[]> {
    const { history, places } = this.#parts.of(envelopeId);
    return (await history.ofEnvelope(envelopeId, webhookIds)).map((line) => places.amongAll(line));
  }
}

/** Reads up to `count` entries of a sorted list that follow `last`. It returns fewer only at the end of the list. */
export type SortedList<E> = (last: E | undefined, count: number) => Promise<readonly E[]>;

interface Head<E> {
  readonly read: SortedList<E>;
  entries: readonly E[];
  next: number;
  isOver: boolean;
}

/** Maximum number of lists that are read at the same time. */
const AT_ONCE = 16;

/**
 * Merges sorted lists into one and yields the entries in order.
 * @param count number of entries that one request reads from a list
 */
export async function* merged<E>(
  lists: readonly SortedList<E>[],
  compare: (a: E, b: E) => number,
  count: number,
): AsyncGenerator<E> {
  let heads = lists.map((read): Head<E> => ({ read, entries: [], next: 0, isOver: false }));
  for (let empty = heads; ;) {
    for (let from = 0; from < empty.length; from += AT_ONCE)
      await Promise.all(empty.slice(from, from + AT_ONCE).map((head) => refill(head, count)));
    heads = heads.filter(({ entries, next }) => next < entries.length);
    const [first, ...others] = heads;
    if (first === undefined) return;
    let newest = first;
    for (const head of others) if (compare(entryOf(head), entryOf(newest)) < 0) newest = head;
    yield entryOf(newest);
    newest.next += 1;
    empty = newest.next === newest.entries.length && !newest.isOver ? [newest] : [];
  }
}

const entryOf = <E>({ entries, next }: Head<E>): E => entries[next] as E;

async function refill<E>(head: Head<E>, count: number): Promise<void> {
  head.entries = await head.read(head.entries.at(-1), count);
  head.next = 0;
  head.isOver = head.entries.length < count;
}
