import { GLOBAL_TAG } from '@relay/redis';

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

export type ShardKind = (typeof OF_SHARD | typeof OF_ONE_OF_SEVERAL)[number][0];

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
