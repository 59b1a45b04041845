import { defineScript, redisKey, runScript } from '@relay/redis';
import type { Redis } from 'ioredis';
import { hashBytes, idBytes, readMark, wholeSeconds, type SeenEntry, type SeenMark } from './seen-mark.js';
import { seenMarkLua } from './seen-mark.script.js';
import { SeenStore } from './seen-store.port.js';

const find = defineScript(
  'seen-find',
  `${seenMarkLua}
local found = {}
seen_read(KEYS[1])
for i = 1, #ARGV do found[i] = seen_find(ARGV[i]) end
return found
`,
);

const markPublished = defineScript(
  'seen-mark-published',
  `${seenMarkLua}
seen_open(KEYS[1], ARGV[1])
for i = 2, #ARGV, 2 do
  local mark, key = seen_find(ARGV[i])
  if not mark then seen_write(key, ARGV[i], 'p' .. ARGV[i + 1]) end
end
seen_close(KEYS[1])
return 1
`,
);

/** Marks in Redis, in the layout of `seen-mark.script.ts`. */
export class RedisSeenStore extends SeenStore {
  readonly #window: number;

  constructor(
    private readonly redis: Redis,
    windowMs: number,
  ) {
    super();
    this.#window = wholeSeconds(windowMs);
  }

  async find(ids: readonly string[]): Promise<(SeenMark | undefined)[]> {
    if (ids.length === 0) return [];
    const marks = (await runScript(this.redis, find, [redisKey('seen')], ids.map(idBytes), true)) as (Buffer | null)[];
    return ids.map((_, index) => readMark(marks[index] ?? null));
  }

  async markPublished(entries: readonly SeenEntry[]): Promise<void> {
    if (entries.length === 0) return;
    const args = entries.flatMap((entry) => [idBytes(entry.id), hashBytes(entry.hash)]);
    await runScript(this.redis, markPublished, [redisKey('seen')], [this.#window, ...args]);
  }
}
