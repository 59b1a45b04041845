import { seenMarkLua } from '@relay/dedupe';
import { noticeLinesLua, registryVersionLua } from '@relay/redis';

/**
 * Takes a partition for a token. KEYS: progress hash of the partition, recovery. ARGV: token, high water to begin with or
 * '', '1' to take the partition from its owner, claim or ''.
 *
 * Returns the high water, the sequence before this call, and how far the partition was read or ''. The script raises the
 * sequence by one: if Redis later loses this write, the sequence shows it. If there is no progress and no high water to
 * begin with, the script stores the owner and returns an empty list. It returns 'owned-elsewhere', without any write, if
 * another token owns the partition and ARGV[3] is not '1'. While a recovery runs, only the token of the recovery may own a
 * partition. For all other tokens, the script then returns an empty list and writes nothing.
 *
 * Redis may stop answering for a while and then run all commands that it received, so a claim may be repeated. A repeated
 * claim gets the first answer.
 */
export const ownLua = `
local recovery = redis.call('GET', KEYS[2])
if recovery and recovery ~= ARGV[1] then return {} end
local owner = redis.call('HGET', KEYS[1], 'owner')
if owner and owner ~= '' and owner ~= ARGV[1] and ARGV[3] ~= '1' then return 'owned-elsewhere' end
local highWater = redis.call('HGET', KEYS[1], 'highWater')
if highWater and owner == ARGV[1] and ARGV[4] ~= '' and redis.call('HGET', KEYS[1], 'claim') == ARGV[4] then
  return { highWater, redis.call('HGET', KEYS[1], 'sequence') - 1, redis.call('HGET', KEYS[1], 'read') or '' }
end
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'claim', ARGV[4])
if ARGV[2] ~= '' and not highWater then
  highWater = ARGV[2]
  redis.call('HSET', KEYS[1], 'highWater', highWater)
end
if not highWater then return {} end
return { highWater, redis.call('HINCRBY', KEYS[1], 'sequence', 1) - 1, redis.call('HGET', KEYS[1], 'read') or '' }
`;

/** Gives a partition up if this token owns it. KEYS: progress hash of the partition. ARGV: token. */
export const releaseLua = `
if redis.call('HGET', KEYS[1], 'owner') == ARGV[1] then redis.call('HSET', KEYS[1], 'owner', '') end
return 1
`;

/**
 * Stores that the shard knows all partitions that were read, unless the progress of one is missing or a recovery runs. KEYS:
 * known, recovery, then the progress hash of each partition that was read.
 * @returns 1 if this is stored, otherwise 0
 */
export const rememberLua = `
if redis.call('EXISTS', KEYS[1]) == 1 then return 1 end
if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
for i = 3, #KEYS do
  if redis.call('HEXISTS', KEYS[i], 'highWater') == 0 then return 0 end
end
redis.call('SET', KEYS[1], 1)
return 1
`;

/**
 * Lua function that calls `each(id, hash)` for each entry of a packed text. An entry is 16 raw bytes of id and 8 of content
 * hash.
 */
const entriesLua = `
local function each_entry(packed, each)
  for at = 1, #packed, 24 do each(string.sub(packed, at, at + 15), string.sub(packed, at + 16, at + 23)) end
end
`;

/**
 * Looks up the ids of a chunk. KEYS: base of the seen marks, then `registryVersionKeys` if they are in the same hash slot.
 * ARGV: the packed entries of the chunk. Returns the version of the registry (-1 without its keys), and a text with one
 * letter for each entry: `o` for open, `d` for duplicate, `c` for conflict. A mark of an ingress (`published`) counts as
 * open, because the first envelope in the log wins.
 */
export const lookUpLua = `${seenMarkLua}${entriesLua}${registryVersionLua}
seen_read(KEYS[1])
local results = {}
each_entry(ARGV[1], function(id, hash)
  local mark = seen_find(id)
  local is_settled = mark and string.sub(mark, 1, 1) == 's'
  results[#results + 1] = not is_settled and 'o' or string.sub(mark, 2) == hash and 'd' or 'c'
end)
return { KEYS[2] and registry_version(KEYS[2], KEYS[3], KEYS[4]) or -1, table.concat(results) }
`;

/** The parts of a flush that most flushes do not have. Every flush has the position and the settled marks. */
export interface FlushRest {
  /** Envelope id and the ids of its settled webhooks, for envelopes that have other deliveries in progress. */
  readonly partial: readonly (readonly [string, string])[];
  /** Ids of envelopes whose partial marks are removed. */
  readonly whole: readonly string[];
  /** Set only while the partition has ranges, or changes of them. Offsets are texts. */
  readonly parking?: {
    /** `<topic>/<partition>` */
    readonly name: string;
    /** The next offset to dispatch. */
    readonly next: string;
    /** Dropped offsets below this one are removed. If it is missing, all of them are removed. */
    readonly keptFrom?: string;
    /** Dropped offsets from this one on are removed before the new ones are added. */
    readonly lostFrom?: string;
    /** Range keys that changed, each with all of its ranges as text (`rangesText`). For a replay, its counts follow. */
    readonly changed: readonly (readonly [string, string])[];
    /** Offsets inside a range whose records are duplicates or conflicts. */
    readonly dropped: readonly string[];
    /** Lines of notices about webhooks that were parked. A worker publishes them after they are stored. */
    readonly notices?: readonly string[];
  };
}

/**
 * Writes the flushes of several partitions.
 *
 * KEYS: base of the seen marks, index of the parked webhooks, running replays; then for each partition its progress hash,
 * partial marks, ranges and dropped offsets.
 *
 * ARGV: window in seconds; how many seconds the index of a replay is kept, or '' if there is only one shard; then ten values
 * for each partition:
 * - token of the owner
 * - high water and sequence of the last confirmed flush
 * - high water and sequence of a later flush whose reply was lost, or '' and ''
 * - high water and sequence to write
 * - packed settled entries
 * - a `FlushRest` as JSON, or ''
 * - how far the partition was read, or ''
 *
 * Returns for each partition 1, or 0 if nothing was written. Nothing is written if the partition has another owner, or
 * neither the confirmed nor the sent position.
 *
 * If there is one shard, the flush that leaves no range of a replay also ends the replay. If there are several shards, the
 * order of a replay is in another hash slot. Each shard then keeps an index of how far its partitions have come, also after
 * its part of the replay is done, and a worker ends the replay.
 */
export const flushLua = `${seenMarkLua}${entriesLua}${noticeLinesLua}
local seen, parked, replays = KEYS[1], KEYS[2], KEYS[3]
local lines = string.gsub(seen, 'seen$', 'notices')
local is_open = false
local function keep_index(index, name, ranges)
  redis.call('HSET', index, name, ranges)
  if redis.call('TTL', index) < 0 then redis.call('EXPIRE', index, ARGV[2]) end
end
local function end_replay_if_done(index, id, name, ranges)
  -- The order of the replay has expired, so the replay ends. Otherwise its webhook could never be replayed again.
  if redis.call('EXISTS', index) == 0 then return redis.call('HDEL', replays, id) end
  redis.call('HSET', index, name, ranges)
  local all = redis.call('HGETALL', index)
  for i = 1, #all, 2 do
    if string.find(all[i], '/', 1, true) and string.sub(all[i + 1], 1, 1) ~= '|' then return end
  end
  local time = redis.call('TIME')
  if redis.call('HDEL', replays, id) == 1 then
    redis.call('HSET', index, 'endedAt', time[1] .. string.sub(1000000 + time[2], 2, 4))
  end
end
local function write_ranges(parked_here, id, ranges, name)
  local index = parked .. ':' .. id
  if string.find(id, '/', 1, true) then
    if string.sub(ranges, 1, 1) == '|' then redis.call('HDEL', parked_here, id)
    else redis.call('HSET', parked_here, id, ranges) end
    if ARGV[2] == '' then end_replay_if_done(index, id, name, ranges) else keep_index(index, name, ranges) end
  elseif ranges == '' then
    redis.call('HDEL', parked_here, id)
    redis.call('HDEL', index, name)
    if redis.call('EXISTS', index) == 0 then redis.call('SREM', parked, id) end
  else
    redis.call('HSET', parked_here, id, ranges)
    redis.call('HSET', index, name, ranges)
    redis.call('SADD', parked, id)
  end
end
local function write_parking(progress, parked_here, dropped, write)
  redis.call('HSET', progress, 'next', write.next)
  for _, change in ipairs(write.changed) do write_ranges(parked_here, change[1], change[2], write.name) end
  if write.lostFrom then redis.call('ZREMRANGEBYSCORE', dropped, write.lostFrom, '+inf') end
  for _, offset in ipairs(write.dropped) do redis.call('ZADD', dropped, offset, offset) end
  if write.keptFrom then redis.call('ZREMRANGEBYSCORE', dropped, '-inf', '(' .. write.keptFrom)
  else redis.call('DEL', dropped) end
  for _, line in ipairs(write.notices or {}) do keep_notice(lines, line, 0) end
end
local function settle(id, hash)
  local mark, key = seen_find(id)
  if not mark or string.sub(mark, 1, 1) ~= 's' then seen_write(key, id, 's' .. hash) end
end
local function flush(key, arg)
  local progress, partials, parked_here, dropped = unpack(KEYS, key, key + 3)
  local token, confirmed_high, confirmed_sequence, sent_high, sent_sequence, next_high, next_sequence, settled, rest, read = unpack(ARGV, arg, arg + 9)
  local found = redis.call('HMGET', progress, 'owner', 'highWater', 'sequence')
  if found[1] ~= token then return 0 end
  local confirmed = found[2] == confirmed_high and found[3] == confirmed_sequence
  local sent = found[2] == sent_high and found[3] == sent_sequence
  if not confirmed and not sent then return 0 end
  if settled ~= '' then
    if not is_open then seen_open(seen, ARGV[1]) end
    is_open = true
    each_entry(settled, settle)
  end
  if rest ~= '' then
    local write = cjson.decode(rest)
    for _, mark in ipairs(write.partial) do redis.call('HSET', partials, mark[1], mark[2]) end
    for _, id in ipairs(write.whole) do redis.call('HDEL', partials, id) end
    if write.parking then write_parking(progress, parked_here, dropped, write.parking) end
  end
  -- The position is written last. If the slot moves while the script runs, no position then covers a mark that is missing.
  if read ~= '' then redis.call('HSET', progress, 'read', read) end
  redis.call('HSET', progress, 'highWater', next_high, 'sequence', next_sequence)
  return 1
end
local results = {}
for i = 1, (#KEYS - 3) / 4 do results[i] = flush(4 * i, 10 * i - 7) end
if is_open then seen_close(seen) end
return results
`;
