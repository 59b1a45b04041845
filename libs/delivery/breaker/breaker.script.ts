import { defineScript } from '@relay/redis';

/**
 * Stores one breaker if it still has the expected text (compare and set). KEYS: hash of all breakers. ARGV: key of the
 * breaker, expected text, new text. An empty text means no breaker. Returns nothing if the new text was stored; otherwise
 * the text that is stored, because another worker changed the breaker in between.
 */
export const swapBreaker = defineScript(
  'swap-breaker',
  `
local found = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if found ~= ARGV[2] then return found end
if ARGV[3] == '' then redis.call('HDEL', KEYS[1], ARGV[1]) else redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end
return false
`,
);

/**
 * Stores when an origin answered 2xx, by Redis' own clock, because the clocks of processes may differ. KEYS: sorted set of
 * origins by the time of their last 2xx. ARGV: origin, maximum of origins. If there are more origins, those with the oldest
 * times are removed.
 */
export const proveOrigin = defineScript(
  'prove-origin',
  `local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], time[1] * 1000 + math.floor(time[2] / 1000), ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -ARGV[2] - 1)
return 1
`,
);
