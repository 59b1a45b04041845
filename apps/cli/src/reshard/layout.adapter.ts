import type { LogPartition } from '@relay/progress';
import { GLOBAL_TAG, type Shard, type Shards } from '@relay/redis';
import type { ChainableCommander, Redis } from 'ioredis';

/**
 * Kinds with few keys. The inventory keeps their names, because keys with the same name are copied together from all shards.
 */
const NAMED = ['dead', 'waiting', 'held', 'unproven', 'history', 'failed', 'repeats', 'partition', 'part'] as const;
/** Kinds of which every envelope may have keys. The inventory only counts these keys. */
const COUNTED = ['job', 'body', 'unsettled'] as const;
const MOST_UNKNOWN = 5;

type Named = (typeof NAMED)[number];
type Counted = (typeof COUNTED)[number];

/** The keys of a layout by kind. The inventory grows with the number of webhooks and partitions, not of envelopes. */
export interface Inventory {
  readonly names: Readonly<Record<Named, ReadonlySet<string>>>;
  readonly keys: Readonly<Record<Counted, number>>;
  readonly isRecovering: boolean;
}

/** A move of the state from one layout of shards into another. The new layout is empty at the start, and no role runs. */
export interface Move {
  readonly from: Shards;
  readonly to: Shards;
  readonly inventory: Inventory;
  readonly writes: Writes;
}

/**
 * Makes an inventory of all keys of a layout.
 * @throws Error that names the keys which this version does not know, because a move does not copy them
 */
export async function inventoryOf(shards: Shards): Promise<Inventory> {
  const names = Object.fromEntries(NAMED.map((kind) => [kind, new Set<string>()])) as Record<Named, Set<string>>;
  const keys = Object.fromEntries(COUNTED.map((kind) => [kind, 0])) as Record<Counted, number>;
  const unknown = new Set<string>();
  let isRecovering = false;
  for (const shard of shards.all)
    for await (const page of keysOf(shard))
      for (const key of page) {
        const known = kindOf(shard.tag, key);
        if (known === undefined) unknown.add(key);
        else if (isOneOf(NAMED, known.kind)) names[known.kind].add(known.name);
        else if (isOneOf(COUNTED, known.kind)) keys[known.kind] += 1;
        else if (known.kind === 'recovery') isRecovering = true;
        if (unknown.size === MOST_UNKNOWN) throw unknownKeys(unknown);
      }
  if (unknown.size > 0) throw unknownKeys(unknown);
  return { names, keys, isRecovering };
}

const isOneOf = <K extends string>(kinds: readonly K[], kind: string): kind is K =>
  (kinds as readonly string[]).includes(kind);

const unknownKeys = (keys: ReadonlySet<string>): Error =>
  new Error(
    `This relay does not know the keys ${[...keys].join(', ')}, and would lose what they hold; nothing was changed. Use the version of \`relay\` that the other processes run, or delete them`,
  );

/** Returns the range keys of all replays that have an order among the global keys. */
export async function ordersIn(slot: Pick<Shard, 'redis' | 'tag'>): Promise<ReadonlySet<string>> {
  const orders = new Set<string>();
  for await (const page of keysOf(slot))
    for (const key of page) {
      const known = kindOf(slot.tag, key);
      if (known?.kind === 'order') orders.add(known.name);
    }
  return orders;
}

/** The partitions of an inventory. @param others further partitions, each as `<topic>:<partition>` */
export const partitionsOf = ({ names }: Inventory, others: readonly string[] = []): LogPartition[] =>
  [...new Set([...names.partition, ...others])].map((name) => {
    const end = name.lastIndexOf(':');
    return { topic: name.slice(0, end), partition: Number(name.slice(end + 1)) };
  });

/**
 * Deletes the keys of shards. Global keys stay, even if they are in the slot of a single shard.
 * @returns the number of deleted keys
 */
export async function deleteLayout(shards: Shards): Promise<number> {
  let deleted = 0;
  for (const shard of shards.all)
    for await (const page of keysOf(shard)) {
      const own = page.filter((key) => isOfShard(kindOf(shard.tag, key)?.kind));
      if (own.length > 0) deleted += await shard.redis.unlink(...own);
    }
  return deleted;
}

const isOfShard = (kind: ShardKind | 'global' | 'order' | undefined): boolean =>
  kind !== undefined && kind !== 'global' && kind !== 'order';

/**
 * Kinds of the keys of a shard:
 * - `job`, `body`, `unsettled`: the state of one envelope
 * - `dead`, `waiting`, `held`, `unproven`, `history`, `failed`: entries of many envelopes, by webhook or origin
 * - `repeats`, `seen`: entries of many envelopes, by the bytes of their ids
 * - `partition`: progress, partial marks, ranges or dropped offsets of a partition
 * - `part`: the progress of a replay in its partitions
 * - `queue`: lists and settings of a BullMQ queue
 * - `notices`: lines that no worker has reported yet
 * - `recovery`: exists until a recovery has ended
 * - `derived`: rebuilt from other keys, or useless without the process that wrote it
 */
const OF_SHARD = [
  ['seen', /^seen(?::\d+:\d+)?$/],
  ['repeats', /^repeats:(\d+:\d+)$/],
  [
    'queue',
    /^((?:deliveries|dead-letters):(?:id|meta|pc|marker|wait|active|paused|delayed|prioritized|completed|failed|waiting-children))$/,
  ],
  ['derived', /^(?:deliveries|dead-letters):(?:events|stalled|stalled-check|limiter|[^:]+:lock)$/],
  ['job', /^((?:deliveries|dead-letters):[^:]+_[^:]+)$/],
  ['body', /^body:(.+)$/],
  ['unsettled', /^unsettled:(.+)$/],
  ['dead', /^dead:(.+)$/],
  ['derived', /^waiting(?:$|:[^:]+:missing$)/],
  ['waiting', /^waiting:([^:]+)$/],
  ['derived', /^(?:held|unproven:jobs|parked)$/],
  ['held', /^held:(.+)$/],
  ['unproven', /^unproven:jobs:(.+)$/],
  ['derived', /^history:(?:salt|of:\d+:\d+)$/],
  ['history', /^history:(.+)$/],
  ['failed', /^failed:(.+)$/],
  ['partition', /^(?:progress|partial|parking|dropped):(.+:\d+)$/],
  ['derived', /^parked:[^/]+$/],
  ['derived', /^(?:rewritten|known)$/],
  ['recovery', /^recovery$/],
] as const;

/** Kinds of keys that each shard has if there are several shards. With one shard, these keys are global. */
const OF_ONE_OF_SEVERAL = [
  ['part', /^parked:(.+\/.+)$/],
  ['notices', /^(notices)$/],
  ['derived', /^notices:(?:claims|dropped|told:.+|later(?::.+)?)$/],
] as const;

type ShardKind = (typeof OF_SHARD | typeof OF_ONE_OF_SEVERAL)[number][0];

interface KnownKey {
  /** `global`: the key belongs to no shard. `order`: the key has the order of a replay, which belongs to no shard either. */
  readonly kind: ShardKind | 'global' | 'order';
  /** The envelope, webhook, origin or partition in the name of the key; empty for kinds whose names contain none. */
  readonly name: string;
}

const GLOBAL =
  /^(?:(?:shards|resharded|resharding|deployment|breakers|proven)$|(?:webhooks|notices|clients|event-types|registry|replays|replay|failing|console|portal|tokens|session|sessions|sign-in|quota|failures|keys)(?::|$))/;
const ORDER = /^parked:(.+\/.+)$/;

/** Returns the kind of a key in a shard or in the global slot; undefined if this version does not know the key. */
export function kindOf(tag: string, key: string): KnownKey | undefined {
  const rest = key.slice(tag.length + 1);
  for (const [kind, pattern] of tag === GLOBAL_TAG ? OF_SHARD : [...OF_SHARD, ...OF_ONE_OF_SEVERAL]) {
    const found = pattern.exec(rest);
    if (found !== null) return { kind, name: found[1] ?? '' };
  }
  if (tag !== GLOBAL_TAG) return undefined;
  const order = ORDER.exec(rest);
  if (order !== null) return { kind: 'order', name: order[1] ?? '' };
  return GLOBAL.test(rest) ? { kind: 'global', name: '' } : undefined;
}

/** How many keys a SCAN looks at, and how many entries of a key are read at once. */
const LOOKED_AT = 1_000;

/** Yields all keys with the tag of a shard in pages. Redis may return a key more than once. */
export async function* keysOf({ redis, tag }: Pick<Shard, 'redis' | 'tag'>): AsyncGenerator<string[]> {
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', `${tag}:*`, 'COUNT', LOOKED_AT);
    cursor = next;
    if (keys.length > 0) yield keys;
  } while (cursor !== '0');
}

export type Type = 'hash' | 'set' | 'sorted';
/** The member or field, followed by its value or score if the type has one. */
export type Entry = readonly Buffer[];

function scanOf(redis: Redis, type: Type, key: string, cursor: string): Promise<[cursor: Buffer, elements: Buffer[]]> {
  if (type === 'hash') return redis.hscanBuffer(key, cursor, 'COUNT', LOOKED_AT);
  if (type === 'set') return redis.sscanBuffer(key, cursor, 'COUNT', LOOKED_AT);
  return redis.zscanBuffer(key, cursor, 'COUNT', LOOKED_AT);
}

/** Yields the entries of a key in pages. Redis may return an entry more than once. */
export async function* entriesOf(redis: Redis, type: Type, key: string): AsyncGenerator<Entry[]> {
  let cursor = '0';
  do {
    const [next, elements] = await scanOf(redis, type, key, cursor);
    cursor = next.toString();
    if (elements.length > 0) yield entriesIn(type, elements);
  } while (cursor !== '0');
}

export function entriesIn(type: Type, elements: readonly Buffer[]): Entry[] {
  const size = type === 'set' ? 1 : 2;
  return Array.from({ length: elements.length / size }, (_, n) => elements.slice(n * size, (n + 1) * size));
}

export function addEntries(pipeline: ChainableCommander, type: Type, key: string, entries: readonly Entry[]): void {
  if (type === 'hash') pipeline.hset(key, ...entries.flat());
  else if (type === 'set') pipeline.sadd(key, ...entries.flat());
  else pipeline.zadd(key, ...entries.flatMap(([member = '', score = '']) => [score, member]));
}

/** Runs a pipeline and returns its answers. @throws the first error among them */
export async function answersOf(pipeline: ChainableCommander): Promise<unknown[]> {
  return ((await pipeline.exec()) ?? []).map(([error, answer]) => {
    if (error !== null) throw error;
    return answer;
  });
}

/**
 * Limits of one pipeline. They are needed because this process keeps a pipeline in memory, and the server receives it at
 * once.
 */
const MOST_COMMANDS = 500;
const MOST_BYTES = 1_048_576;

interface Open {
  readonly pipeline: ChainableCommander;
  commands: number;
  bytes: number;
}

/** Collects writes to shards in one pipeline for each connection. */
export class Writes {
  readonly #open = new Map<Redis, Open>();

  /** Adds a command to the pipeline of its shard. @param bytes the approximate size of the command */
  add({ redis }: Shard, bytes: number, command: (pipeline: ChainableCommander) => void): void {
    const open = this.#open.get(redis) ?? { pipeline: redis.pipeline(), commands: 0, bytes: 0 };
    this.#open.set(redis, open);
    command(open.pipeline);
    open.commands += 1;
    open.bytes += bytes;
  }

  /** Sends the pipelines that have reached a limit. @throws if a write fails */
  async relieve(): Promise<void> {
    await this.#send(({ commands, bytes }) => commands >= MOST_COMMANDS || bytes >= MOST_BYTES);
  }

  async finish(): Promise<void> {
    await this.#send(() => true);
  }

  async #send(isDue: (open: Open) => boolean): Promise<void> {
    const due = [...this.#open].filter(([, open]) => isDue(open));
    for (const [redis] of due) this.#open.delete(redis);
    await Promise.all(due.map(([, { pipeline }]) => answersOf(pipeline)));
  }
}

/**
 * Divides a key that has entries of many envelopes and the same name in each shard. Each entry goes to the new shard of its
 * envelope. Each new key gets the longest lifetime that the key has in an old shard.
 * @returns the new shards that got entries
 */
export async function divide(
  { from, to, writes }: { readonly from: Shards; readonly to: Shards; readonly writes: Writes },
  { parts, type, envelopeOf }: { parts: readonly string[]; type: Type; envelopeOf: (member: Buffer) => string },
): Promise<ReadonlySet<Shard>> {
  const targets = new Set<Shard>();
  const lives: number[] = [];
  for (const shard of from.all) {
    const ttl = await shard.redis.pttl(shard.key(...parts));
    if (ttl !== -2) lives.push(ttl === -1 ? Infinity : ttl);
    for await (const entries of entriesOf(shard.redis, type, shard.key(...parts))) {
      for (const [target, part] of to.divide<Entry>(entries, ([member]) => envelopeOf(member ?? Buffer.alloc(0)))) {
        targets.add(target);
        writes.add(target, 100 * part.length, (pipeline) => addEntries(pipeline, type, target.key(...parts), part));
      }
      await writes.relieve();
    }
  }
  const life = Math.max(0, ...lives);
  if (life > 0 && life < Infinity)
    for (const target of targets) writes.add(target, 0, (pipeline) => pipeline.pexpire(target.key(...parts), life));
  return targets;
}
