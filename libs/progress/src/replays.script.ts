/**
 * KEYS: the replay, the replays under way, those paused, counter of series, index of ranges, all replays by age, then the parked
 * ranges of each partition.
 * ARGV: id, webhook, now in milliseconds, seconds kept, prefix of a replay's key, what its range key begins with, count of fields, then name and value of each,
 * then name and range text of each partition. Returns the id of a replay of this webhook that is under way, or nothing once the
 * new one is stored. One that was held up for so long that it is forgotten is under way no more.
 * Its series is a multiple of 1,000: dead letters of it count on from there when they are replayed. It is never used again, also
 * where Redis has lost its counter and the letters of earlier ones were recovered: it is no less than the seconds since 1970.
 */
export const createReplayLua = `
local running = redis.call('HGETALL', KEYS[2])
for i = 1, #running, 2 do
  if string.match(running[i], '^failed:([^/]*)') == ARGV[2] or string.match(running[i], '^[^/]*') == ARGV[2] then
    if redis.call('EXISTS', ARGV[5] .. running[i + 1]) == 1 then return running[i + 1] end
    redis.call('HDEL', KEYS[2], running[i])
    redis.call('SREM', KEYS[3], running[i])
  end
end
local series = math.max(tonumber(redis.call('GET', KEYS[4]) or '0') + 1, math.floor(ARGV[3] / 1000))
redis.call('SET', KEYS[4], string.format('%.0f', series))
local key = ARGV[6] .. ARGV[2] .. '/' .. string.format('%.0f', series * 1000)
local index = KEYS[5] .. ':' .. key
local last = 7 + 2 * ARGV[7]
redis.call('HSET', KEYS[1], 'key', key, 'createdAt', ARGV[3], unpack(ARGV, 8, last))
for i = 7, #KEYS do
  local name, ranges = ARGV[last + 2 * (i - 7) + 1], ARGV[last + 2 * (i - 7) + 2]
  redis.call('HSET', KEYS[i], key, ranges)
  redis.call('HSET', index, name, ranges)
end
if #KEYS > 6 then
  redis.call('HSET', KEYS[2], key, ARGV[1])
  redis.call('ZADD', KEYS[6], ARGV[3], ARGV[1])
  redis.call('ZREMRANGEBYSCORE', KEYS[6], '-inf', ARGV[3] - 1000 * ARGV[4])
else
  redis.call('HSET', index, 'endedAt', ARGV[3])
end
redis.call('EXPIRE', KEYS[1], ARGV[4])
redis.call('EXPIRE', index, ARGV[4])
return false
`;

/** KEYS: the replay, the replays under way, those paused. ARGV: now in milliseconds. Returns 1 when it was under way. */
export const cancelReplayLua = `
local key = redis.call('HGET', KEYS[1], 'key')
if not key or redis.call('HDEL', KEYS[2], key) == 0 then return 0 end
redis.call('SREM', KEYS[3], key)
redis.call('HSET', KEYS[1], 'cancelledAt', ARGV[1])
return 1
`;

/** KEYS: the replay, the replays under way, those paused. ARGV: 1 to pause, 0 to go on. Returns 1 when it is under way. */
export const pauseReplayLua = `
local key = redis.call('HGET', KEYS[1], 'key')
if not key or redis.call('HEXISTS', KEYS[2], key) == 0 then return 0 end
redis.call(ARGV[1] == '1' and 'SADD' or 'SREM', KEYS[3], key)
return 1
`;
