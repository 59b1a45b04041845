import { defineScript } from '@relay/redis';

/**
 * Stores deliveries, and indexes them by envelope.
 *
 * Each webhook has a stream `<base>:<webhook>`. Its entries are in the order in which they were stored, by Redis' clock. A
 * node of the stream has about a hundred entries, and old nodes are trimmed.
 *
 * The deliveries of an envelope are found by the lists `<base>:of:<hour>:<bucket>`. The hash of the envelope's id determines
 * the bucket. An entry of the list is one integer made of three numbers: the rest of the envelope's hash, the millisecond
 * within the hour, and a hash of the webhook. These three numbers almost always identify the right stream and the right
 * entry in it. The reader compares the envelope's id.
 *
 * KEYS: base. ARGV: window in milliseconds, salt of the hash, the lines as `packedLines` packs them, then the webhooks.
 * Lines refer to the webhooks by their numbers in this list. Returns the salt that Redis has. If that is another salt,
 * nothing was stored.
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
 * Counts attempts. Each webhook has a hash `<base>:<webhook>`. By Redis' clock, it has for each hour a count of failed
 * attempts (`<hour>`) and of successful ones (`d<hour>`, which earlier versions ignore). It also has the last failure
 * (`last`), and the last successful attempt that was kept with its answer (`good`). A field of a count takes about 70 bytes,
 * and there are at most two for each hour of the window and two more.
 *
 * KEYS: base. ARGV: window in milliseconds, then five values for each webhook: its id, the numbers of new failed and new
 * successful attempts, the last failure or '', and the kept successful attempt or ''.
 */
export const addAttempts = defineScript(
  'history-failures',
  `local HOUR = 3600000
local window = tonumber(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local oldest, hour = math.floor((now - window) / HOUR), string.format('%d', math.floor(now / HOUR))
for i = 2, #ARGV, 5 do
  local key = KEYS[1] .. ':' .. ARGV[i]
  for kind, prefix in ipairs({ '', 'd' }) do
    local count = tonumber(ARGV[i + kind])
    if count > 0 and redis.call('HINCRBY', key, prefix .. hour, count) == count then
      for _, field in ipairs(redis.call('HKEYS', key)) do
        if (tonumber(string.match(field, '^d?(%d+)$')) or oldest) < oldest then redis.call('HDEL', key, field) end
      end
    end
  end
  if ARGV[i + 3] ~= '' then redis.call('HSET', key, 'last', ARGV[i + 3]) end
  if ARGV[i + 4] ~= '' then redis.call('HSET', key, 'good', ARGV[i + 4]) end
  redis.call('PEXPIRE', key, string.format('%d', window + HOUR))
end
return 1
`,
);

/**
 * Counts the successful and failed attempts of webhooks within the window, from the data that `history-add` and
 * `history-failures` store. Successful attempts are counted to the millisecond, failed ones by whole hours. Returns two
 * numbers for each webhook.
 *
 * KEYS: base of the history, base of the failures. ARGV: window in milliseconds, then the ids of the webhooks.
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
  -- Writers trim only approximately (whole nodes), and only when they write. This trim is exact.
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

/**
 * Sums the counts of `history-failures` over webhooks. Returns two numbers for each hour: failed and successful attempts.
 *
 * KEYS: base of the counts. ARGV: first and last hour since the epoch, then the ids of the webhooks.
 */
export const readHours = defineScript(
  'history-hours',
  `local first, last = tonumber(ARGV[1]), tonumber(ARGV[2])
local sums = {}
for n = 1, 2 * (last - first + 1) do sums[n] = 0 end
for i = 3, #ARGV do
  local fields = redis.call('HGETALL', KEYS[1] .. ':' .. ARGV[i])
  for n = 1, #fields, 2 do
    local prefix, hour = string.match(fields[n], '^(d?)(%d+)$')
    local at = 2 * ((tonumber(hour) or 0) - first) + 1 + #(prefix or '')
    if hour and sums[at] then sums[at] = sums[at] + tonumber(fields[n + 1]) end
  end
end
return sums
`,
);
