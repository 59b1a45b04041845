import { defineScript, REGISTRY_APPLIED, REGISTRY_REBUILDING, redisKey } from '@relay/redis';

export const rebuildKeys = [REGISTRY_APPLIED, REGISTRY_REBUILDING] as const;

/** What a rebuild removes: every key of the view, with its indexes and the results that are remembered; not `rebuildKeys`. */
export const VIEW_KEYS = ['clients', 'webhooks', 'registry'].map((name) => redisKey(name));

/**
 * Begins to empty the view, so that the snapshot at offset ARGV[1] fills it. Answers 0 where Redis has that snapshot, or stands
 * right before it: then somebody else was faster.
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

/** Removes the keys given after the first two, while the view is being emptied for that snapshot and no other. */
export const REMOVE = defineScript(
  'registry-remove',
  `
if redis.call('GET', KEYS[2]) ~= 'empty ' .. ARGV[1] then return 0 end
for i = 3, #KEYS do redis.call('UNLINK', KEYS[i]) end
return 1
`,
);

/** Ends the emptying: the next command to apply is the snapshot's first. */
export const EMPTIED = defineScript(
  'registry-emptied',
  `
if redis.call('GET', KEYS[2]) ~= 'empty ' .. ARGV[1] then return 0 end
redis.call('SET', KEYS[1], tonumber(ARGV[1]) - 1)
redis.call('SET', KEYS[2], 'fill ' .. ARGV[1])
return 1
`,
);
