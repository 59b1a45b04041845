import { defineScript, REGISTRY_APPLIED, REGISTRY_REBUILDING, globalKey } from '@relay/redis';

export const rebuildKeys = [REGISTRY_APPLIED, REGISTRY_REBUILDING] as const;

/** A rebuild removes every key of the view, with its indexes and the remembered results, but not `rebuildKeys`. */
export const VIEW_KEYS = ['clients', 'webhooks', 'registry'].map((name) => globalKey(name));

/**
 * Begins to empty the view, so that the snapshot at offset ARGV[1] fills it. Returns 0 when Redis has that snapshot or stands right
 * before it: another process was faster.
 */
export const EMPTY = defineScript(
  'registry-empty',
  `
local applied, start = redis.call('GET', KEYS[1]), tonumber(ARGV[1])
local next = tonumber(applied or '-1') + 1
if next > start or (applied and next == start) then return 0 end
redis.call('SET', KEYS[2], 'empty ' .. ARGV[1])
return 1
`,
);

/** Removes the keys after the first two, only while the view is being emptied for this very snapshot. */
export const REMOVE = defineScript(
  'registry-remove',
  `
if redis.call('GET', KEYS[2]) ~= 'empty ' .. ARGV[1] then return 0 end
for i = 3, #KEYS do redis.call('UNLINK', KEYS[i]) end
return 1
`,
);

/** Ends the emptying: the snapshot's first record is the next to apply. */
export const EMPTIED = defineScript(
  'registry-emptied',
  `
if redis.call('GET', KEYS[2]) ~= 'empty ' .. ARGV[1] then return 0 end
redis.call('SET', KEYS[1], tonumber(ARGV[1]) - 1)
redis.call('SET', KEYS[2], 'fill ' .. ARGV[1])
return 1
`,
);
