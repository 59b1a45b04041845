import { defineScript } from '@relay/redis';

/**
 * Counts failed attempts. Each webhook that fails has a hash, `<base>:<webhook>`, with a count for each hour by Redis' clock and
 * the last failure.
 *
 * KEYS: base. ARGV: window in milliseconds; webhook, failures and last failure of each.
 */
export const addFailures = defineScript(
  'history-failures',
  `local HOUR = 3600000
local window = tonumber(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local oldest, hour = math.floor((now - window) / HOUR), string.format('%d', math.floor(now / HOUR))
for i = 2, #ARGV, 3 do
  local key = KEYS[1] .. ':' .. ARGV[i]
  if redis.call('HINCRBY', key, hour, ARGV[i + 1]) == tonumber(ARGV[i + 1]) then
    for _, field in ipairs(redis.call('HKEYS', key)) do
      if field ~= 'last' and tonumber(field) < oldest then redis.call('HDEL', key, field) end
    end
  end
  redis.call('HSET', key, 'last', ARGV[i + 2])
  redis.call('PEXPIRE', key, string.format('%d', window + HOUR))
end
return 1
`,
);
