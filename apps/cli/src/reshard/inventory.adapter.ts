import type { LogPartition } from '@relay/progress';
import { GLOBAL_TAG, type Shard, type Shards } from '@relay/redis';
import { keysOf, type Writes } from './scan.adapter.js';

/** Kinds of which a key is one of few: their names are kept, so that the keys of one name in all shards are copied together. */
const NAMED = ['dead', 'waiting', 'held', 'unproven', 'history', 'failed', 'repeats', 'partition', 'part'] as const;
/** Kinds of which every envelope may have keys: they are only counted. */
const COUNTED = ['job', 'body', 'unsettled'] as const;
const MOST_UNKNOWN = 5;

type Named = (typeof NAMED)[number];
type Counted = (typeof COUNTED)[number];

/** What the keys of a layout are of. It grows with webhooks and partitions, not with envelopes. */
export interface Inventory {
  readonly names: Readonly<Record<Named, ReadonlySet<string>>>;
  readonly keys: Readonly<Record<Counted, number>>;
  readonly isRecovering: boolean;
}

/** Of one layout of shards into another. Roles are stopped, and the new layout is empty at its start. */
export interface Move {
  readonly from: Shards;
  readonly to: Shards;
  readonly inventory: Inventory;
  readonly writes: Writes;
}

/**
 * Looks at every key of a layout.
 * @throws Error naming keys of which this relay does not know what they are: they would be lost
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

export async function ordersIn(slot: Pick<Shard, 'redis' | 'tag'>): Promise<ReadonlySet<string>> {
  const orders = new Set<string>();
  for await (const page of keysOf(slot))
    for (const key of page) {
      const known = kindOf(slot.tag, key);
      if (known?.kind === 'order') orders.add(known.name);
    }
  return orders;
}

/** The partitions of an inventory. @param others further ones, each as `<topic>:<partition>` */
export const partitionsOf = ({ names }: Inventory, others: readonly string[] = []): LogPartition[] =>
  [...new Set([...names.partition, ...others])].map((name) => {
    const end = name.lastIndexOf(':');
    return { topic: name.slice(0, end), partition: Number(name.slice(end + 1)) };
  });

/** Deletes the keys of shards; what is global stays, also where it is in the same slot. @returns how many */
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
 * What a key of a shard holds:
 * - `job`, `body`, `unsettled`: what one envelope has for itself
 * - `dead`, `waiting`, `held`, `unproven`, `history`, `failed`: entries of many envelopes, by webhook or origin
 * - `repeats`, `seen`: entries of many envelopes, by the bytes of their ids
 * - `partition`: progress, partial marks, ranges or dropped offsets; `part`: how far the partitions came with a replay
 * - `queue`: lists and settings of a BullMQ queue
 * - `notices`: lines that are not told yet
 * - `recovery`: a recovery has not ended
 * - `derived`: made of the others, or of no use without the process that wrote it
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

/** With several shards, what is global where there is one. */
const OF_ONE_OF_SEVERAL = [
  ['part', /^parked:(.+\/.+)$/],
  ['notices', /^(notices)$/],
  ['derived', /^notices:(?:claims|dropped|told:.+|later(?::.+)?)$/],
] as const;

type ShardKind = (typeof OF_SHARD | typeof OF_ONE_OF_SEVERAL)[number][0];

interface KnownKey {
  /** `global`: it belongs to no shard; `order`: it is the order of a replay, which belongs to none. */
  readonly kind: ShardKind | 'global' | 'order';
  /** What it is of: an envelope, a webhook, a partition. */
  readonly name: string;
}

const GLOBAL =
  /^(?:(?:shards|resharded|resharding|deployment|breakers|proven)$|(?:webhooks|notices|clients|registry|replays|replay|failing|console|portal|tokens|session|sessions|quota|failures|keys)(?::|$))/;
const ORDER = /^parked:(.+\/.+)$/;

/** What a key of a shard, or of the global slot, is. Undefined for one that this relay does not know. */
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
