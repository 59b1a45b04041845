import { defineScript } from '@relay/redis';

/**
 * Remembers deliveries. Of each webhook a stream, `<base>:<webhook>`, in the order in which they ended, by Redis' clock: packed
 * some hundred to a node and trimmed by their age. That of an envelope is found by a list, `<base>:of:<hour>:<bucket>`: the
 * envelope's id chooses the bucket, an entry holds the rest of its fold, the millisecond within the hour, and a fold of the
 * webhook, so one integer leads to a stream and a place in it that almost always are the right ones.
 *
 * KEYS: base. ARGV: window in milliseconds; then webhook, short id, attempts, bucket, rest and fold of the webhook of each.
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
local touched = {}
for i = 2, #ARGV, 6 do
  local stream = KEYS[1] .. ':' .. ARGV[i]
  local id = redis.call('XADD', stream, 'MINID', '~', oldest, '*', 'e', ARGV[i + 1], 'a', ARGV[i + 2])
  touched[stream] = true
  local at = tonumber(string.match(id, '^%d+'))
  local bucket = KEYS[1] .. ':of:' .. string.format('%d', math.floor(at / HOUR)) .. ':' .. ARGV[i + 3]
  if redis.call('RPUSH', bucket, string.format('%.0f', ARGV[i + 5] * 2 ^ 38 + at % HOUR * 65536 + ARGV[i + 4])) == 1 then
    redis.call('PEXPIREAT', bucket, expires)
  end
end
for stream in pairs(touched) do redis.call('PEXPIRE', stream, ARGV[1]) end
return 1
`,
);
