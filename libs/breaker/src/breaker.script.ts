import { defineScript } from '@relay/redis';

/**
 * Compare and set of one breaker. KEYS: the hash of all. ARGV: endpoint, the text it is expected to have, the text it is
 * to have; '' stands for none. Returns nothing when it was
 * set, else the text that was found: another worker was faster, even if it wrote the very same.
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
