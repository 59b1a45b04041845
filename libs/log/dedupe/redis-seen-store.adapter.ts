import { defineScript, runScript, type Shard, type Shards } from '@relay/redis';
import { seenMarkLua } from './seen-mark.script.js';

/**
 * State of an envelope id. It only ever goes from `published` to `settled`.
 * - `published`: an ingress has Kafka's acknowledgement of the envelope. This state may be missing; it is only used by the
 *   ingress, to answer `duplicate` or 409.
 * - `settled`: every delivery of the envelope was answered 2xx or is stored as a job, a dead letter or a range. A duplicate
 *   of the envelope is dropped.
 */
export type SeenState = 'published' | 'settled';

export interface SeenMark {
  state: SeenState;
  /** Content hash, 16 hex characters. */
  hash: string;
}

/** An envelope's id (UUID) and the hash of its content. */
export interface SeenEntry {
  id: string;
  hash: string;
}

/**
 * The seen marks as the ingress uses them. The ingress may miss a duplicate, because the worker checks again before it
 * delivers. Calls reject while Redis cannot be reached; the caller then continues without marks.
 */
export abstract class SeenStore {
  /** Returns the marks of these ids in the same order; undefined for an id that has no mark. */
  abstract find(ids: readonly string[]): Promise<(SeenMark | undefined)[]>;

  /** Marks ids as published after Kafka has acknowledged their envelopes. It never changes an existing mark. */
  abstract markPublished(entries: readonly SeenEntry[]): Promise<void>;
}

const find = defineScript(
  'seen-find',
  `${seenMarkLua}
local found = {}
seen_read(KEYS[1])
for at = 1, #ARGV[1], 16 do
  local mark = seen_find(string.sub(ARGV[1], at, at + 15))
  if mark then
    found[#found + 1] = (at - 1) / 16
    found[#found + 1] = mark
  end
end
return found
`,
);

const markPublished = defineScript(
  'seen-mark-published',
  `${seenMarkLua}
seen_open(KEYS[1], ARGV[1])
for at = 1, #ARGV[2], 24 do
  local id = string.sub(ARGV[2], at, at + 15)
  local mark, key = seen_find(id)
  if not mark then seen_write(key, id, 'p' .. string.sub(ARGV[2], at + 16, at + 23)) end
end
seen_close(KEYS[1])
return 1
`,
);

/**
 * Seen marks in Redis, in the layout that `seen-mark.script.ts` describes. The scripts take all ids packed into one argument
 * and return only the marks that exist. This is faster, because ioredis spends more on each argument, and Redis on each item
 * of a reply, than on the bytes of an id.
 */
export class RedisSeenStore extends SeenStore {
  readonly #window: number;

  constructor(
    private readonly shards: Shards,
    windowMs: number,
  ) {
    super();
    this.#window = wholeSeconds(windowMs);
  }

  async find(ids: readonly string[]): Promise<(SeenMark | undefined)[]> {
    const marks = Array.from<SeenMark | undefined>({ length: ids.length });
    const parts = this.shards.divide([...ids.entries()], ([, id]) => id);
    await Promise.all(parts.map((part) => this.#find(...part, marks)));
    return marks;
  }

  async #find(
    shard: Shard,
    ids: readonly (readonly [number, string])[],
    marks: (SeenMark | undefined)[],
  ): Promise<void> {
    const asked = packedIds(ids.map(([, id]) => id));
    const found = (await runScript(shard.redis, find, [shard.key('seen')], [asked], true)) as (number | Buffer)[];
    for (let at = 0; at < found.length; at += 2)
      marks[ids[found[at] as number]?.[0] as number] = readMark(found[at + 1] as Buffer);
  }

  async markPublished(entries: readonly SeenEntry[]): Promise<void> {
    await Promise.all(
      this.shards
        .divide(entries, ({ id }) => id)
        .map(([shard, part]) =>
          runScript(shard.redis, markPublished, [shard.key('seen')], [this.#window, packed(part)]),
        ),
    );
  }
}

const STATE_OF_BYTE: Readonly<Record<number, SeenState>> = { 112: 'published', 115: 'settled' };

const ID_BYTES = 16;
const HASH_BYTES = 8;

/** Packs ids into raw bytes, 16 for each id, as the scripts expect them. */
export function packedIds(ids: readonly string[]): Buffer {
  const bytes = Buffer.alloc(ids.length * ID_BYTES);
  for (const [index, id] of ids.entries()) writeId(bytes, id, index * ID_BYTES);
  return bytes;
}

/** Packs entries into raw bytes, 24 for each entry: the id and the content hash. */
export function packed(entries: readonly SeenEntry[]): Buffer {
  const bytes = Buffer.alloc(entries.length * (ID_BYTES + HASH_BYTES));
  let at = 0;
  for (const { id, hash } of entries) {
    writeId(bytes, id, at);
    bytes.write(hash, at + ID_BYTES, HASH_BYTES, 'hex');
    at += ID_BYTES + HASH_BYTES;
  }
  return bytes;
}

const writeId = (bytes: Buffer, id: string, at: number): number =>
  bytes.write(id.replaceAll('-', ''), at, ID_BYTES, 'hex');

/** Reads a stored mark: one byte for the state (`p` or `s`), followed by the 8 bytes of the content hash. */
function readMark(raw: Buffer): SeenMark | undefined {
  const state = raw.length === 9 ? STATE_OF_BYTE[raw[0] as number] : undefined;
  return state === undefined ? undefined : { state, hash: raw.subarray(1).toString('hex') };
}

/** Converts a window in milliseconds to seconds, rounded up. The scripts use seconds. */
export const wholeSeconds = (windowMs: number): number => Math.ceil(windowMs / 1_000);
