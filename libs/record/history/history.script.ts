import { defineScript } from '@relay/redis';

/**
 * Stores deliveries. Each webhook has a stream, `<base>:<webhook>`, in order of storing by Redis' clock, about a hundred entries to
 * a node and trimmed by age. The deliveries of an envelope are found by lists, `<base>:of:<hour>:<bucket>`. The hash of the
 * envelope's id chooses the bucket; an entry is one integer of the rest of that hash, the millisecond within the hour, and a hash
 * of the webhook. Almost always it leads to the right stream and the right entry in it.
 *
 * KEYS: base. ARGV: window in milliseconds, salt, the lines as `packedLines` writes them, then the webhooks that these number.
 */
export const addLines = defineScript(
  'history-add',
  `local HOUR = 3600000
local window = tonumber(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local oldest = string.format('%d', now - window)
local hour = math.floor(now / HOUR)
local expires = string.format('%d', (hour + 1) * HOUR + window)
local salt = redis.call('GET', KEYS[1] .. ':salt')
if salt and salt ~= ARGV[2] then return salt end
if not salt then redis.call('SET', KEYS[1] .. ':salt', ARGV[2]) end
redis.call('PEXPIREAT', KEYS[1] .. ':salt', expires)
local touched = {}
local at_byte, lines = 1, ARGV[3]
while at_byte <= #lines do
  local webhook, place, rest, fold, short, attempts, next_byte = struct.unpack('>I2I2I2I2I1c0I4c0', lines, at_byte)
  at_byte = next_byte
  local stream = KEYS[1] .. ':' .. ARGV[4 + webhook]
  local id = redis.call('XADD', stream, 'MINID', '~', oldest, '*', 'e', short, 'a', attempts)
  touched[stream] = true
  local at = tonumber(string.match(id, '^%d+'))
  local bucket = KEYS[1] .. ':of:' .. string.format('%d', math.floor(at / HOUR)) .. ':' .. place
  if redis.call('RPUSH', bucket, string.format('%.0f', fold * 2 ^ 38 + at % HOUR * 65536 + rest)) == 1 then
    redis.call('PEXPIREAT', bucket, expires)
  end
end
for stream in pairs(touched) do redis.call('PEXPIRE', stream, ARGV[1]) end
return ARGV[2]
`,
);

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

/**
 * Successful and failed attempts of webhooks in the window, as `history-add` and `history-failures` keep them: the former to the
 * millisecond, the latter by whole hours. Two numbers for each webhook, whatever else its entries hold.
 *
 * KEYS: base of the history, base of the failures. ARGV: window in milliseconds, webhooks.
 */
export const readTotals = defineScript(
  'history-totals',
  `local HOUR = 3600000
local time = redis.call('TIME')
local oldest = time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(ARGV[1])
local first = math.floor(oldest / HOUR)
local totals = {}
for i = 2, #ARGV do
  local stream, key, failed = KEYS[1] .. ':' .. ARGV[i], KEYS[2] .. ':' .. ARGV[i], 0
  -- The writers drop whole nodes, and none while there is nothing to write.
  redis.call('XTRIM', stream, 'MINID', string.format('%d', oldest))
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if (tonumber(field) or 0) >= first then failed = failed + tonumber(redis.call('HGET', key, field)) end
  end
  totals[#totals + 1] = redis.call('XLEN', stream)
  totals[#totals + 1] = failed
end
return totals
`,
);
