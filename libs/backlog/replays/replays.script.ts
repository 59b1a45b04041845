/**
 * KEYS: the newest replays of a webhook, the running replays, the paused replays. ARGV: prefix of a replay's key.
 *
 * Returns the id of the webhook's running or paused replay, or nothing. Only the newest replay of a webhook can be running
 * or paused. A paused replay that has expired counts as ended.
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
 * KEYS: the newest replays of the webhook, the running replays, the paused replays, the new replay, the counter of replay
 * numbers, prefix of the ordered ranges, all replays by age, the partner's replays by age; with one shard, then the ranges
 * of each partition. ARGV: prefix of a replay's key, replay id, webhook id, now in milliseconds, seconds to keep the replay,
 * maximum of replays to keep of a webhook, prefix of the range key, maximum of replays to list for a partner, number of
 * fields, then name and value of each field, then name and range text of each partition.
 *
 * If the webhook has a running or paused replay, returns its id. Otherwise stores the new replay, and returns '' and the
 * range keys of the webhook's old replays that were removed because there were too many.
 *
 * The replay number is a multiple of 1,000, so that replays of its dead letters can use the numbers that follow. It is at
 * least 1,000 times the seconds since 1970. Therefore no number is used twice, even if Redis loses the counter and earlier
 * dead letters are recovered.
 */
export const createReplayLua = `
local function running_replay() ${runningReplayLua} end
local running = running_replay()
if running then return { running } end
local forgotten = { '' }
local series = math.max(tonumber(redis.call('GET', KEYS[5]) or '0') + 1, math.floor(ARGV[4] / 1000))
redis.call('SET', KEYS[5], string.format('%.0f', series))
local key = ARGV[7] .. ARGV[3] .. '/' .. string.format('%.0f', series * 1000)
local index = KEYS[6] .. ':' .. key
local last = 9 + 2 * ARGV[9]
redis.call('HSET', KEYS[4], 'key', key, 'createdAt', ARGV[4], unpack(ARGV, 10, last))
for i = last + 1, #ARGV, 2 do
  local name, ranges, parked_here = ARGV[i], ARGV[i + 1], KEYS[9 + (i - last - 1) / 2]
  if parked_here then redis.call('HSET', parked_here, key, ranges) end
  redis.call('HSET', index, name, ranges)
end
if #ARGV > last then
  redis.call('HSET', KEYS[2], key, ARGV[2])
  redis.call('ZADD', KEYS[7], ARGV[4], ARGV[2])
  redis.call('ZREMRANGEBYSCORE', KEYS[7], '-inf', ARGV[4] - 1000 * ARGV[5])
  redis.call('ZADD', KEYS[8], ARGV[4], ARGV[2])
  redis.call('ZREMRANGEBYSCORE', KEYS[8], '-inf', ARGV[4] - 1000 * ARGV[5])
  redis.call('ZREMRANGEBYRANK', KEYS[8], 0, -1 - ARGV[8])
  redis.call('EXPIRE', KEYS[8], ARGV[5])
  -- Twice as long: the list must still name a replay that was paused until it expired.
  redis.call('LPUSH', KEYS[1], ARGV[2] .. ' ' .. key)
  redis.call('EXPIRE', KEYS[1], 2 * ARGV[5])
  while redis.call('LLEN', KEYS[1]) > tonumber(ARGV[6]) do
    local old_id, old_key = string.match(redis.call('RPOP', KEYS[1]), '^(%S+) (%S+)$')
    redis.call('DEL', ARGV[1] .. old_id, KEYS[6] .. ':' .. old_key)
    redis.call('ZREM', KEYS[7], old_id)
    redis.call('ZREM', KEYS[8], old_id)
    forgotten[#forgotten + 1] = old_key
  end
else
  redis.call('HSET', index, 'endedAt', ARGV[4])
end
redis.call('EXPIRE', KEYS[4], ARGV[5])
redis.call('EXPIRE', index, ARGV[5])
return forgotten
`;

/**
 * KEYS: the replay, the running replays, the paused replays. ARGV: now in milliseconds. Returns 0 if the replay had already
 * ended, otherwise 1.
 */
export const cancelReplayLua = `
local key = redis.call('HGET', KEYS[1], 'key')
if not key or redis.call('HDEL', KEYS[2], key) == 0 then return 0 end
redis.call('SREM', KEYS[3], key)
redis.call('HSET', KEYS[1], 'cancelledAt', ARGV[1])
return 1
`;

/**
 * KEYS: the replay, the running replays, the paused replays. ARGV: 1 to pause, 0 to resume. Returns 0 if the replay has
 * ended, otherwise 1.
 */
export const pauseReplayLua = `
local key = redis.call('HGET', KEYS[1], 'key')
if not key or redis.call('HEXISTS', KEYS[2], key) == 0 then return 0 end
redis.call(ARGV[1] == '1' and 'SADD' or 'SREM', KEYS[3], key)
return 1
`;

/**
 * KEYS: the ordered ranges of the replay, the running replays, the paused replays, the ended replays by time. ARGV: range
 * key, milliseconds for which the replay is listed as recently ended, maximum of recently ended replays.
 *
 * Ends a replay that has no ranges left in any shard. If its order has expired, the script only removes the replay from the
 * running and paused replays, so that another replay of the webhook can be ordered.
 */
export const endReplayLua = `
local id = redis.call('HGET', KEYS[2], ARGV[1])
if not id then return 0 end
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('SREM', KEYS[3], ARGV[1])
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local time = redis.call('TIME')
local now = time[1] .. string.sub(1000000 + time[2], 2, 4)
redis.call('HSET', KEYS[1], 'endedAt', now)
redis.call('ZADD', KEYS[4], now, id .. ' ' .. ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', now - ARGV[2])
redis.call('ZREMRANGEBYRANK', KEYS[4], 0, -1 - ARGV[3])
return 1
`;

/**
 * KEYS: the ordered ranges of the replay, the running replays, the ended replays by time, the replay. ARGV: range key,
 * replay id.
 *
 * Marks an ended replay as running again, because a shard has lost its end. Returns 1 if the replay is running now, even if
 * it was running before; otherwise 0.
 */
export const resumeEndedLua = `
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 1 then return 1 end
if redis.call('EXISTS', KEYS[4]) == 0 or redis.call('HDEL', KEYS[1], 'endedAt') == 0 then return 0 end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('ZREM', KEYS[3], ARGV[2] .. ' ' .. ARGV[1])
return 1
`;
