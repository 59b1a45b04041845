import { randomUUID } from 'node:crypto';
import { Inject, Injectable, Optional } from '@nestjs/common';
import { clientKeys } from '@relay/identity';
import { REGISTRY_APPLIED, runScript, type ViewPart } from '@relay/redis';
import { Log } from '@relay/telemetry';
import { webhookKeys } from '@relay/webhooks';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { snapshotCommandOf, type SnapshotCommand } from './registry-applier.adapter.js';
import { RegistryLog } from './registry-log.port.js';
import { RegistryView } from './registry-view.adapter.js';
import { LAST_SNAPSHOT, SNAPSHOT, PARTS, RESULTS_KEY, RESULTS_ORDER } from './registry.script.js';
import { FIELDS, RESULTS_PART, VALUES } from './snapshot.script.js';

/** Number of snapshot records that are appended together; they have about 1 MiB. */
const WINDOW = 16;

const Answer = z.object({
  kind: z.enum(['begun', 'busy', 'completed', 'refused', 'stale', 'aborted', 'failed']),
  offset: z.number().optional(),
  reason: z.string().optional(),
});

/**
 * `busy`: another snapshot is under way. `given-up`: another process ended this snapshot because it made no progress.
 * `refused`: the snapshot did not contain the whole state of the registry.
 */
export type Compaction =
  | { readonly kind: 'compacted'; readonly records: number; readonly begin: number; readonly freed: boolean }
  | { readonly kind: 'busy' | 'given-up' }
  | { readonly kind: 'refused'; readonly reason: string };

/** The last completed snapshot, as Redis stores it; `at` is in epoch milliseconds. */
interface LastSnapshot {
  readonly id: string;
  readonly begin: number;
  readonly end: number;
  readonly at: number;
}

/**
 * Makes snapshots of the registry and deletes the records that a snapshot replaces. A snapshot consists of records of the
 * same log. Older records are deleted only after the last record of the snapshot was applied and the snapshot was found
 * complete.
 */
@Injectable()
export class RegistryCompaction {
  constructor(
    private readonly redis: Redis,
    @Inject(RegistryLog) private readonly registryLog: RegistryLog,
    private readonly registry: RegistryView,
    @Inject(Log) private readonly log: Log,
    @Optional() private readonly now: () => number = Date.now,
  ) {}

  async last(): Promise<LastSnapshot | undefined> {
    const { id, begin, end, at } = await this.redis.hgetall(LAST_SNAPSHOT);
    return id === undefined ? undefined : { id, begin: Number(begin), end: Number(end), at: Number(at) };
  }

  async grown(): Promise<number> {
    const [last, applied] = await Promise.all([this.last(), this.redis.get(REGISTRY_APPLIED)]);
    return Number(applied ?? -1) - (last?.end ?? -1);
  }

  /**
   * Whether more than `after` records follow the last snapshot, and more than four for each registered client and webhook.
   */
  async isDue(after: number): Promise<boolean> {
    const [grown, clients, webhooks] = await Promise.all([
      this.grown(),
      this.redis.hlen(clientKeys[0]),
      this.redis.hlen(webhookKeys[0]),
    ]);
    return grown > Math.max(after, 4 * (clients + webhooks));
  }

  /**
   * Makes a snapshot and deletes the older records. If an error occurs, the unfinished snapshot is ended too.
   * @throws RegistryUnavailable, PublishFailed
   */
  async compact(): Promise<Compaction> {
    await this.registry.current();
    const snapshot = randomUUID();
    try {
      const begun = await this.#order({ kind: 'begin', snapshot });
      if (begun.kind !== 'begun' || begun.offset === undefined) return { kind: 'busy' };
      const restored = await this.#restore(snapshot, begun.offset);
      if (restored === undefined) return { kind: 'given-up' };
      const ended = await this.#order({ kind: 'end', snapshot, ...restored, at: this.now() });
      if (ended.kind === 'refused') return this.#refused(snapshot, ended.reason ?? 'is not whole');
      if (ended.kind !== 'completed') return { kind: 'given-up' };
      const { records } = restored;
      const freed = await this.free();
      this.log.info(
        'registry.compacted',
        'A snapshot of clients and webhooks replaces the older records of the registry',
        { snapshot, begin: begun.offset, records, freed },
      );
      return { kind: 'compacted', records, begin: begun.offset, freed };
    } catch (error) {
      await this.#giveUp(snapshot);
      throw error;
    }
  }

  /**
   * Deletes the records that the last snapshot replaces, if the log has this snapshot at the offsets that Redis stores. If a
   * process dies between the end of its snapshot and this deletion, the next call deletes the records.
   * @returns whether the records are deleted
   */
  async free(): Promise<boolean> {
    const last = await this.last();
    if (last === undefined) return false;
    const { start, end } = await this.registryLog.bounds();
    if (start >= last.begin) return true;
    if (end <= last.end || !(await this.#isInLog(last))) return false;
    const freed = await this.registryLog.deleteBefore(last.begin);
    if (freed === 'not-permitted')
      this.log.warn(
        'registry.not_freed',
        'The brokers do not let this client delete records of the registry, so the topic grows: grant the client Delete on it',
        { before: last.begin },
      );
    return freed === 'deleted';
  }

  /**
   * Redis may be a copy of the view of another log. So no record is deleted unless this log has the snapshot that Redis
   * stores.
   */
  async #isInLog({ id, begin, end }: LastSnapshot): Promise<boolean> {
    const kinds: string[] = [];
    for (const offset of [begin, end])
      await this.registryLog.read(offset, offset + 1, async (commands) => {
        for (const { offset: at, value } of commands) {
          const command = snapshotCommandOf(value);
          if (at === offset && command?.snapshot === id) kinds.push(command.kind);
        }
      });
    return kinds.join() === 'begin,end';
  }

  async #restore(
    snapshot: string,
    begin: number,
  ): Promise<{ records: number; counts: Record<string, number> } | undefined> {
    let n = 0;
    const counts: Record<string, number> = {};
    let window: SnapshotCommand[] = [];
    for await (const { part, count, items } of readState(this.redis, begin)) {
      window.push({ kind: 'restore', snapshot, n, part, items: [...items] });
      n += 1;
      counts[part] = (counts[part] ?? 0) + count;
      if (window.length < WINDOW) continue;
      if (!(await this.registry.restore(snapshot, window))) return undefined;
      window = [];
    }
    return (await this.registry.restore(snapshot, window)) ? { records: n, counts } : undefined;
  }

  async #order(command: SnapshotCommand): Promise<z.infer<typeof Answer>> {
    return Answer.parse(await this.registry.order(command));
  }

  #refused(snapshot: string, reason: string): Compaction {
    this.log.error(
      'registry.snapshot_refused',
      'A snapshot of the registry was not complete; the worker deletes no records',
      { snapshot, reason },
    );
    return { kind: 'refused', reason };
  }

  /** Ends the snapshot that is under way. The caller knows that the process that made it has ended. */
  async giveUpOther(): Promise<void> {
    const snapshot = await this.redis.hget(SNAPSHOT, 'id');
    if (snapshot !== null) await this.registry.order({ kind: 'abort', snapshot });
  }

  /** If this fails, the next process that finds the snapshot without progress ends it. */
  async #giveUp(snapshot: string): Promise<void> {
    await this.registry.order({ kind: 'abort', snapshot }).catch(() => undefined);
  }
}

/** Limits of one call to Redis and of one record of a snapshot. */
const ITEMS = 100;
const BYTES = 48 * 1024;

const Strings = z.array(z.string());
const Scanned = z.tuple([z.string(), Strings]);

/**
 * Yields the state for a snapshot in slices: each slice has `count` items of one part, and each item has the same number of
 * texts. Each item comes once. The slices are consistent only if the registry does not change during the read. Every process
 * checks that when it applies the end of the snapshot.
 * @param begin offset of the snapshot's first record
 */
async function* readState(redis: Redis, begin: number) {
  for (const part of PARTS)
    for await (const items of itemsOf(redis, part))
      if (items.length > 0) yield { part: part.name, count: items.length / 2, items };
  for await (const items of resultsOf(redis, begin)) yield { part: RESULTS_PART, count: items.length / 3, items };
}

async function* itemsOf(redis: Redis, { key, kind }: ViewPart): AsyncGenerator<readonly string[]> {
  if (kind === 'hash') {
    yield* hashOf(redis, key);
    return;
  }
  if (kind === 'string') {
    const value = await redis.get(key);
    yield value === null ? [] : ['', value];
    return;
  }
  for (let from = 0; ; from += ITEMS) {
    const items = await redis.zrange(key, String(from), String(from + ITEMS - 1), 'WITHSCORES');
    if (items.length === 0) return;
    yield items;
  }
}

async function* hashOf(redis: Redis, key: string): AsyncGenerator<readonly string[]> {
  const fields = new Set<string>();
  let cursor = '0';
  do {
    const [next, found] = Scanned.parse(await runScript(redis, FIELDS, [key], [cursor, ITEMS]));
    cursor = next;
    for (const field of found) fields.add(field);
  } while (cursor !== '0');
  const left = [...fields];
  for (let at = 0; at < left.length;) {
    const asked = left.slice(at, at + ITEMS);
    const values = Strings.parse(await runScript(redis, VALUES, [key], [BYTES, ...asked]));
    if (values.length === 0) throw new Error('Redis went back in time while a snapshot was made');
    yield values.flatMap((value, index) => [asked[index] ?? '', value]);
    at += values.length;
  }
}

/** Yields only the results of commands before the snapshot, because the log keeps all later commands. */
async function* resultsOf(redis: Redis, begin: number): AsyncGenerator<readonly string[]> {
  for (let from = 0; ; from += ITEMS) {
    const scored = await redis.zrangebyscore(RESULTS_ORDER, '-inf', `(${begin}`, 'WITHSCORES', 'LIMIT', from, ITEMS);
    if (scored.length === 0) return;
    const ids = scored.filter((_, index) => index % 2 === 0);
    const texts = await redis.hmget(RESULTS_KEY, ...ids);
    yield ids.flatMap((id, index) => [id, String(begin - Number(scored[2 * index + 1])), texts[index] ?? '']);
  }
}
