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
