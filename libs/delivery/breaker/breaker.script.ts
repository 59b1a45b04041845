import { defineScript } from '@relay/redis';

/**
 * Compare and set of one breaker. KEYS: hash of all breakers. ARGV: key of the breaker, expected text, new text; '' for no
 * breaker. Returns nothing if it was set, else the stored text: another worker was faster, even if it wrote the same text.
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
 * Notes a 2xx of an origin by Redis' own clock, since the clocks of processes may differ. KEYS: origins by the time of their last
 * 2xx. ARGV: origin, maximum of kept origins, the latest ones.
 */
export const proveOrigin = defineScript(
  'prove-origin',
  `local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], time[1] * 1000 + math.floor(time[2] / 1000), ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -ARGV[2] - 1)
return 1
`,
);
