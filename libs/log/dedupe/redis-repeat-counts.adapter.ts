import { defineScript, runScript, type Shards } from '@relay/redis';
import { packedIds, wholeSeconds } from './redis-seen-store.adapter.js';

/** How often an envelope id was sent again: with the same content (`duplicates`) and with other content (`conflicts`). */
export interface RepeatCount {
  readonly duplicates: number;
  readonly conflicts: number;
}

const DAY_MS = 86_400_000;
/** Number of days whose counts are read for an id. The log keeps envelopes for 7 days; the eighth day is the current one. */
const DAYS = 8;
const BUCKETS = 1_024;
/**
 * Maximum number of fields in a bucket. Redis stores a hash of this size as a listpack, about 25 bytes a field. An id has 1
 * or 2.
 */
const FIELDS = 128;

/**
 * Adds to the counts of several ids. KEYS: base. ARGV: seconds to live, then four values for each id: its 16 raw bytes, its
 * bucket, its duplicates and its conflicts. In the hash of a bucket, a field is the id followed by `d` or `c`. An id is not
 * counted if its bucket of the day is full.
 */
const add = defineScript(
  'repeats-add',
  `local day = math.floor(tonumber(redis.call('TIME')[1]) / 86400)
for i = 2, #ARGV, 4 do
  local key = string.format('%s:%d:%s', KEYS[1], day, ARGV[i + 1])
  for n, kind in ipairs({ 'd', 'c' }) do
    local count, field = tonumber(ARGV[i + 1 + n]), ARGV[i] .. kind
    if count > 0 and (redis.call('HLEN', key) < ${FIELDS} or redis.call('HEXISTS', key, field) == 1) then
      redis.call('HINCRBY', key, field, count)
    end
  end
  redis.call('EXPIRE', key, ARGV[1])
end
return 1
`,
);

/**
 * Keeps the counts of repeated ids in Redis, in small hashes by day. Their size is bounded: at most about 130,000 fields a
 * day, which take about 4 MB. The counts are for information only; no decision depends on them.
 */
export class RedisRepeatCounts {
  readonly #seconds: number;

  /** @param windowMs how long counts are kept; Redis keeps them one day longer */
  constructor(
    private readonly shards: Shards,
    windowMs: number,
  ) {
    this.#seconds = wholeSeconds(windowMs + DAY_MS);
  }

  async add(counts: ReadonlyMap<string, RepeatCount>): Promise<void> {
    const parts = this.shards.divide([...counts], ([id]) => id);
    await Promise.all(
      parts.map(([shard, part]) => {
        const args = part.flatMap(([id, { duplicates, conflicts }]) => {
          const bytes = packedIds([id]);
          return [bytes, bucketOf(bytes), duplicates, conflicts];
        });
        return runScript(shard.redis, add, [shard.key('repeats')], [this.#seconds, ...args]);
      }),
    );
  }

  async of(id: string): Promise<RepeatCount> {
    const shard = this.shards.of(id);
    const bytes = packedIds([id]);
    const fields = ['d', 'c'].map((kind) => Buffer.concat([bytes, Buffer.from(kind)]));
    const [seconds] = await shard.redis.time();
    const today = Math.floor((Number(seconds) * 1_000) / DAY_MS);
    const pipeline = shard.redis.pipeline();
    for (let back = 0; back < DAYS; back += 1)
      pipeline.hmget(shard.key('repeats', today - back, bucketOf(bytes)), ...fields);
    const found = ((await pipeline.exec()) ?? []).map(([error, reply]) => {
      if (error !== null) throw error;
      return (reply as (string | null)[]).map(Number);
    });
    const sumOf = (kind: number): number => found.reduce((sum, counts) => sum + (counts[kind] ?? 0), 0);
    return { duplicates: sumOf(0), conflicts: sumOf(1) };
  }
}

/**
 * Returns the bucket of an id. A source chooses the bytes of its ids, so it could fill one bucket on purpose, but not all of
 * them.
 */
const bucketOf = (id: Buffer): number => (id.readUInt32BE(0) ^ id.readUInt32BE(12)) & (BUCKETS - 1);

/** Maximum number of ids whose counts wait to be written. Further ids are not counted. */
const MOST_WAITING = 5_000;
const BATCH = 500;
const GATHER_MS = 200;

/**
 * Collects repeated ids in memory and writes their counts in batches, so that deliveries never wait for them. Counts are
 * lost if Redis does not accept them.
 */
export class RepeatCounter {
  readonly #waiting = new Map<string, RepeatCount>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly store: Pick<RedisRepeatCounts, 'add'>) {}

  count(id: string, kind: 'duplicate' | 'conflict'): void {
    const known = this.#waiting.get(id);
    if (known === undefined && this.#waiting.size >= MOST_WAITING) return;
    const { duplicates = 0, conflicts = 0 } = known ?? {};
    this.#waiting.set(id, {
      duplicates: duplicates + Number(kind === 'duplicate'),
      conflicts: conflicts + Number(kind === 'conflict'),
    });
    this.#timer ??= setTimeout(() => void this.close(), GATHER_MS).unref();
  }

  /** Writes the waiting counts. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const counts = [...this.#waiting];
    this.#waiting.clear();
    for (let from = 0; from < counts.length; from += BATCH)
      await this.store.add(new Map(counts.slice(from, from + BATCH))).catch(() => undefined);
  }
}
