/**
 * KEYS: the newest replays of a webhook, the replays under way, those paused. ARGV: prefix of a replay's key.
 * Returns the id of the one that is under way, or nothing. Only the newest can be. One that was held up for so long that it is
 * forgotten is under way no more.
 */
export const runningReplayLua = `
local newest = redis.call('LINDEX', KEYS[1], 0)
if not newest then return false end
local id, key = string.match(newest, '^(%S+) (%S+)$')
if redis.call('HEXISTS', KEYS[2], key) == 0 then return false end
if redis.call('EXISTS', ARGV[1] .. id) == 1 then return id end
redis.call('HDEL', KEYS[2], key)
redis.call('SREM', KEYS[3], key)
return false
`;

/**
 * KEYS: the newest replays of the webhook, the replays under way, those paused, the replay, counter of series, index of ranges,
 * all replays by age, then the parked ranges of each partition.
 * ARGV: prefix of a replay's key, id, webhook, now in milliseconds, seconds kept, how many are kept of a webhook, what its range
 * key begins with, count of fields, then name and value of each, then name and range text of each partition. Returns the id of a
 * replay of this webhook that is under way, or nothing once the new one is stored.
 * Its series is a multiple of 1,000: dead letters of it count on from there when they are replayed. It is never used again, also
 * where Redis has lost its counter and the letters of earlier ones were recovered: it is no less than the seconds since 1970.
 */
export const createReplayLua = `
local function running_replay() ${runningReplayLua} end
local running = running_replay()
if running then return running end
local series = math.max(tonumber(redis.call('GET', KEYS[5]) or '0') + 1, math.floor(ARGV[4] / 1000))
redis.call('SET', KEYS[5], string.format('%.0f', series))
local key = ARGV[7] .. ARGV[3] .. '/' .. string.format('%.0f', series * 1000)
local index = KEYS[6] .. ':' .. key
local last = 8 + 2 * ARGV[8]
redis.call('HSET', KEYS[4], 'key', key, 'createdAt', ARGV[4], unpack(ARGV, 9, last))
for i = 8, #KEYS do
  local name, ranges = ARGV[last + 2 * (i - 8) + 1], ARGV[last + 2 * (i - 8) + 2]
  redis.call('HSET', KEYS[i], key, ranges)
  redis.call('HSET', index, name, ranges)
end
if #KEYS > 7 then
  redis.call('HSET', KEYS[2], key, ARGV[2])
  redis.call('ZADD', KEYS[7], ARGV[4], ARGV[2])
  redis.call('ZREMRANGEBYSCORE', KEYS[7], '-inf', ARGV[4] - 1000 * ARGV[5])
  -- Twice as long: it still names one that was held up and is forgotten.
  redis.call('LPUSH', KEYS[1], ARGV[2] .. ' ' .. key)
  redis.call('EXPIRE', KEYS[1], 2 * ARGV[5])
  while redis.call('LLEN', KEYS[1]) > tonumber(ARGV[6]) do
    local old_id, old_key = string.match(redis.call('RPOP', KEYS[1]), '^(%S+) (%S+)$')
    redis.call('DEL', ARGV[1] .. old_id, KEYS[6] .. ':' .. old_key)
    redis.call('ZREM', KEYS[7], old_id)
  end
else
  redis.call('HSET', index, 'endedAt', ARGV[4])
end
redis.call('EXPIRE', KEYS[4], ARGV[5])
redis.call('EXPIRE', index, ARGV[5])
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
