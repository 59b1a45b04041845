import { defineScript, runScript, type Shard, type Shards } from '@relay/redis';
import { packed, packedIds, readMark, wholeSeconds, type SeenEntry, type SeenMark } from './seen-mark.js';
import { seenMarkLua } from './seen-mark.script.js';
import { SeenStore } from './seen-store.port.js';

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
 * Marks in Redis, in the layout of `seen-mark.script.ts`. The scripts take all ids as one argument and return only found marks:
 * each argument costs ioredis, and each item of an answer costs Redis, more than the id itself.
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
