import { defineScript } from '@relay/redis';

/**
 * Counts failed attempts. Each webhook that fails has a hash, `<base>:<webhook>`, with a count for each hour by Redis' clock and
 * the last failure. The last good answer that was kept stands there as well: it is told with them, and written as rarely.
 *
 * KEYS: base. ARGV: window in milliseconds; webhook, failures, last failure and good answer of each, the last two empty for none.
 */
export const addFailures = defineScript(
  'history-failures',
  `local HOUR = 3600000
local window = tonumber(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local oldest, hour = math.floor((now - window) / HOUR), string.format('%d', math.floor(now / HOUR))
for i = 2, #ARGV, 4 do
  local key = KEYS[1] .. ':' .. ARGV[i]
  local count = tonumber(ARGV[i + 1])
  if count > 0 and redis.call('HINCRBY', key, hour, count) == count then
    for _, field in ipairs(redis.call('HKEYS', key)) do
      if tonumber(field) and tonumber(field) < oldest then redis.call('HDEL', key, field) end
    end
  end
  if ARGV[i + 2] ~= '' then redis.call('HSET', key, 'last', ARGV[i + 2]) end
  if ARGV[i + 3] ~= '' then redis.call('HSET', key, 'good', ARGV[i + 3]) end
  redis.call('PEXPIRE', key, string.format('%d', window + HOUR))
end
return 1
`,
);
