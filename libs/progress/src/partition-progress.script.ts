import { seenMarkLua } from '@relay/dedupe';

/**
 * KEYS: progress hash of the partition, recovery. ARGV: token, start or '', '1' to reset, '1' to take it from its owner, claim or ''.
 * While a recovery is under way every partition is lost for all but the recovery itself: it returns nothing and writes nothing.
 * Returns {highWater, sequence found}, nothing when there is no progress and no start, or 'held' while another token
 * owns the partition and it is not to be taken: then nothing is written. The sequence is one higher
 * afterwards: a Redis that goes back behind this ownership shows another one. The same claim again, because its answer
 * was lost (Redis answers nobody for a while, then does everything it was sent), finds what it found the first time.
 */
export const ownLua = `
local recovery = redis.call('GET', KEYS[2])
if recovery and recovery ~= ARGV[1] then return {} end
local owner = redis.call('HGET', KEYS[1], 'owner')
if owner and owner ~= '' and owner ~= ARGV[1] and ARGV[4] ~= '1' then return 'held' end
local highWater = redis.call('HGET', KEYS[1], 'highWater')
if highWater and owner == ARGV[1] and ARGV[5] ~= '' and redis.call('HGET', KEYS[1], 'claim') == ARGV[5] then
  return { highWater, redis.call('HGET', KEYS[1], 'sequence') - 1 }
end
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'claim', ARGV[5])
if ARGV[2] ~= '' and (not highWater or ARGV[3] == '1') then
  highWater = ARGV[2]
  redis.call('HSET', KEYS[1], 'highWater', highWater)
end
if not highWater then return {} end
return { highWater, redis.call('HINCRBY', KEYS[1], 'sequence', 1) - 1 }
`;

/** KEYS: progress hash of the partition. ARGV: token. Gives the partition up, if it is this token's. */
export const releaseLua = `
if redis.call('HGET', KEYS[1], 'owner') == ARGV[1] then redis.call('HSET', KEYS[1], 'owner', '') end
return 1
`;

/**
 * KEYS: seen base, registry version. ARGV: window in seconds, then id and content hash of each envelope.
 * Returns the registry's version, then a verdict each: n(ew), a(gain), d(uplicate), c(onflict).
 * A mark of an ingress never decides: the first in the log wins, so a published mark is taken over whatever its hash.
 */
export const reserveLua = `${seenMarkLua}
seen_open(KEYS[1], ARGV[1])
local verdicts = {}
for i = 2, #ARGV, 2 do
  local id, hash = ARGV[i], ARGV[i + 1]
  local mark, key = seen_find(id)
  local state = mark and string.sub(mark, 1, 1)
  local verdict
  if not mark or state == 'p' then
    seen_write(key, id, 'r' .. hash)
    verdict = 'n'
  elseif string.sub(mark, 2) ~= hash then
    verdict = 'c'
  elseif state == 'r' then
    verdict = 'a'
  else
    verdict = 'd'
  end
  verdicts[#verdicts + 1] = verdict
end
seen_close(KEYS[1])
return { redis.call('GET', KEYS[2]) or '0', table.concat(verdicts) }
`;

/**
 * KEYS: progress hash, seen base, partial marks, parked ranges and dropped offsets of the partition, index of the parked webhooks,
 * replays under way.
 * ARGV: token, confirmed high water and sequence, sent ones (or '' ''), next ones, window in seconds, count of settled, then id and
 * hash of each, count of partial marks, then id and text of each, count of ids whose partial marks go, then these, then, if
 * anything is parked: the partition's name, the next offset to hand out, the lowest dropped offset to keep (or ''), count of
 * changed keys, then key and ranges of each (nothing where none is left; of a replay with its counts), then dropped offsets.
 * Returns 1, or 0 when something else was found: then nothing is written.
 */
export const flushLua = `${seenMarkLua}
local function replay_stands(index, id, name, ranges)
  -- Nobody remembers it any more: it must not keep its webhook from being replayed for ever.
  if redis.call('EXISTS', index) == 0 then return redis.call('HDEL', KEYS[7], id) end
  redis.call('HSET', index, name, ranges)
  local all = redis.call('HGETALL', index)
  for i = 1, #all, 2 do
    if string.find(all[i], '/', 1, true) and string.sub(all[i + 1], 1, 1) ~= '|' then return end
  end
  local time = redis.call('TIME')
  if redis.call('HDEL', KEYS[7], id) == 1 then redis.call('HSET', index, 'endedAt', time[1] .. string.sub(1000000 + time[2], 2, 4)) end
end
local found = redis.call('HMGET', KEYS[1], 'owner', 'highWater', 'sequence')
if found[1] ~= ARGV[1] then return 0 end
local confirmed = found[2] == ARGV[2] and found[3] == ARGV[3]
local sent = found[2] == ARGV[4] and found[3] == ARGV[5]
if not confirmed and not sent then return 0 end
redis.call('HSET', KEYS[1], 'highWater', ARGV[6], 'sequence', ARGV[7])
local at, settled = 9, tonumber(ARGV[9])
if settled > 0 then seen_open(KEYS[2], ARGV[8]) end
for _ = 1, settled do
  local id, hash = ARGV[at + 1], ARGV[at + 2]
  at = at + 2
  local mark, key = seen_find(id)
  if not mark or string.sub(mark, 2) == hash then seen_write(key, id, 's' .. hash) end
end
seen_close(KEYS[2])
at = at + 1
for _ = 1, tonumber(ARGV[at]) do
  redis.call('HSET', KEYS[3], ARGV[at + 1], ARGV[at + 2])
  at = at + 2
end
local whole = tonumber(ARGV[at + 1])
at = at + 1
for i = at + 1, at + whole do redis.call('HDEL', KEYS[3], ARGV[i]) end
at = at + whole
if not ARGV[at + 1] then return 1 end
local name, kept_from, changed = ARGV[at + 1], ARGV[at + 3], tonumber(ARGV[at + 4])
redis.call('HSET', KEYS[1], 'next', ARGV[at + 2])
at = at + 4
for _ = 1, changed do
  local id, ranges = ARGV[at + 1], ARGV[at + 2]
  local index = KEYS[6] .. ':' .. id
  at = at + 2
  if string.find(id, '/', 1, true) then
    if string.sub(ranges, 1, 1) == '|' then redis.call('HDEL', KEYS[4], id)
    else redis.call('HSET', KEYS[4], id, ranges) end
    replay_stands(index, id, name, ranges)
  elseif ranges == '' then
    redis.call('HDEL', KEYS[4], id)
    redis.call('HDEL', index, name)
    if redis.call('EXISTS', index) == 0 then redis.call('SREM', KEYS[6], id) end
  else
    redis.call('HSET', KEYS[4], id, ranges)
    redis.call('HSET', index, name, ranges)
    redis.call('SADD', KEYS[6], id)
  end
end
for i = at + 1, #ARGV do redis.call('ZADD', KEYS[5], ARGV[i], ARGV[i]) end
if kept_from == '' then redis.call('DEL', KEYS[5])
else redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', '(' .. kept_from) end
return 1
`;
