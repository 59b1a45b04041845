/**
 * Layout of the sessions. KEYS[1] is `session:<partner>:<user>`, a small hash with all sessions of one user. Its field
 * `user` has the user id. Each other field is the hash of a session id, and its value is the session's end and slice. The
 * key expires with its last session. KEYS[2] is `sessions:<partner>`, a hash that counts the sessions of one partner by
 * slices, which are a 32nd of a session's lifetime. Each field is the end of a slice, and its value is the number of
 * sessions that end in the slice. The total is the sum of some dozens of numbers, and a wrong number disappears at the end
 * of its slice. A session uses one field of each hash and has no key of its own. Times are epoch milliseconds by the clocks
 * of the callers.
 */
const lua = `
local function uncount(slice)
  if redis.call('HEXISTS', KEYS[2], slice) == 1 and redis.call('HINCRBY', KEYS[2], slice, -1) <= 0 then
    redis.call('HDEL', KEYS[2], slice)
  end
end
local function expire_in(key, ms)
  if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, ms) end
end
`;

/**
 * ARGV: now, end, slice, session, user id, user's limit, partner's limit. Returns 0 if the session was opened, otherwise the
 * milliseconds to wait.
 */
export const openSessionLua = `${lua}
local now, ends, slice = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local stored, live = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #stored, 2 do
  local at, counted = string.match(stored[i + 1], '^(%d+) (%d+)$')
  if stored[i] ~= 'user' and tonumber(at) <= now then redis.call('HDEL', KEYS[1], stored[i])
  elseif stored[i] ~= 'user' then live[#live + 1] = { session = stored[i], at = tonumber(at), slice = counted } end
end
local too_many = #live + 1 - tonumber(ARGV[6])
if too_many > 0 then
  table.sort(live, function(a, b) return a.at < b.at end)
  for i = 1, too_many do
    redis.call('HDEL', KEYS[1], live[i].session)
    uncount(live[i].slice)
  end
else
  local counts, total, soonest = redis.call('HGETALL', KEYS[2]), 0, math.huge
  for i = 1, #counts, 2 do
    local at = tonumber(counts[i])
    if at <= now then redis.call('HDEL', KEYS[2], counts[i])
    else total, soonest = total + counts[i + 1], math.min(soonest, at) end
  end
  if total >= tonumber(ARGV[7]) then return math.max(1, soonest - now) end
end
redis.call('HSET', KEYS[1], 'user', ARGV[5], ARGV[4], ARGV[2] .. ' ' .. slice)
redis.call('HINCRBY', KEYS[2], slice, 1)
expire_in(KEYS[1], ends - now)
expire_in(KEYS[2], tonumber(slice) - now)
return 0
`;

/** ARGV: now, session. Returns 1 if the session existed and had not expired, otherwise 0. */
export const endSessionLua = `${lua}
local at, slice = string.match(redis.call('HGET', KEYS[1], ARGV[2]) or '', '^(%d+) (%d+)$')
if not at then return 0 end
redis.call('HDEL', KEYS[1], ARGV[2])
uncount(slice)
if redis.call('HLEN', KEYS[1]) == 1 then redis.call('DEL', KEYS[1]) end
return tonumber(at) > tonumber(ARGV[1]) and 1 or 0
`;
