import { defineScript } from '@relay/redis';

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
