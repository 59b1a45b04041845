import { defineScript, type ViewPart } from '@relay/redis';

/**
 * Name of the part that contains the remembered results; it has no key of its own. For each result that was remembered when
 * the snapshot began, it has the id of the command, the distance from its offset to the snapshot's beginning, and the result
 * as text.
 */
export const RESULTS_PART = 'results';

const partsLua = (parts: readonly ViewPart[]): string =>
  parts.map(({ name, key, kind }) => `parts['${name}'] = { key = '${key}', kind = '${kind}' }`).join('\n');

/**
 * Lua that applies the records of a snapshot; the script that applies all records includes it. It defines `frozen` (the id
 * of the snapshot under way), `refusal` (returns the state in which a record must not be applied, or 0), `restore` (applies
 * a record with items of a part) and `order_of` (functions that apply the other commands).
 *
 * Between `begin` and `end` nothing else changes, so a restored view has the state at `begin`. A complete view compares each
 * record with its own state, and at `end` refuses a snapshot that does not contain the whole state with each item once. A
 * view that is being rebuilt stores the items instead, and at `end` the number of its items must match the snapshot.
 */
export const snapshotLua = (parts: readonly ViewPart[]): string => `
local rebuilding = redis.call('GET', rebuilding_key) or ''
local frozen = redis.call('HGET', snapshot_key, 'id')
local filling = frozen and redis.call('HGET', snapshot_key, 'filling') == '1'
local parts = { ['${RESULTS_PART}'] = { kind = 'results', key = results } }
${partsLua(parts)}
local width = { hash = 2, ['sorted set'] = 2, string = 2, results = 3 }

local function begin_of() return tonumber(redis.call('HGET', snapshot_key, 'begin')) end
local function size_of(part)
  if part.kind == 'hash' then return redis.call('HLEN', part.key) end
  if part.kind == 'sorted set' then return redis.call('ZCARD', part.key) end
  if part.kind == 'string' then return redis.call('EXISTS', part.key) end
  return redis.call('ZCOUNT', order, '-inf', '(' .. begin_of())
end
local function is_empty()
  for _, part in pairs(parts) do if redis.call('EXISTS', part.key) == 1 then return false end end
  return true
end

local function is_held(part, items, i)
  if part.kind == 'hash' then return redis.call('HGET', part.key, items[i]) == items[i + 1] end
  if part.kind == 'sorted set' then return redis.call('ZSCORE', part.key, items[i]) == items[i + 1] end
  if part.kind == 'string' then return redis.call('GET', part.key) == items[i + 1] end
  local score = redis.call('ZSCORE', order, items[i])
  return score and begin_of() - tonumber(score) == tonumber(items[i + 1]) and redis.call('HGET', results, items[i]) == items[i + 2]
end
local function take(part, name, items, i)
  if part.kind == 'hash' then
    redis.call('HSET', part.key, items[i], items[i + 1])
    if restored[name] then restored[name](items[i], items[i + 1]) end
  elseif part.kind == 'sorted set' then
    redis.call('ZADD', part.key, items[i + 1], items[i])
  elseif part.kind == 'string' then
    redis.call('SET', part.key, items[i + 1])
  else
    redis.call('ZADD', order, begin_of() - tonumber(items[i + 1]), items[i])
    redis.call('HSET', results, items[i], items[i + 2])
  end
end

local function spoil(reason) redis.call('HSETNX', snapshot_key, 'spoilt', reason) end
local function restore_part(command)
  local name, items = command.part, command.items
  local part = parts[name]
  for i = 1, #items, width[part.kind] do
    if redis.call('SADD', seen, name .. ' ' .. items[i]) == 0 then return spoil('repeats an item of ' .. name) end
    if filling then take(part, name, items, i)
    elseif not is_held(part, items, i) then return spoil('differs from an item of ' .. name) end
    redis.call('HINCRBY', snapshot_key, 'count:' .. name, 1)
  end
end
-- Records are numbered. If a number is too low, the publisher repeated a record; if it is too high, a record is missing.
local function restore(command)
  if command.snapshot ~= frozen then return end
  local next = tonumber(redis.call('HGET', snapshot_key, 'next'))
  if command.n < next then return end
  if command.n > next then return spoil('lacks record ' .. next) end
  redis.call('HSET', snapshot_key, 'next', next + 1)
  if not pcall(restore_part, command) then spoil('has a record that cannot be read') end
end

-- Returns why the snapshot under way is not the whole state, or nil if it is.
local function fault_of(command)
  local spoilt = redis.call('HGET', snapshot_key, 'spoilt')
  if spoilt then return spoilt end
  local next = redis.call('HGET', snapshot_key, 'next')
  if tonumber(next) ~= command.records then return 'lacks records from ' .. next .. ' on' end
  for name, part in pairs(parts) do
    local count = tonumber(redis.call('HGET', snapshot_key, 'count:' .. name) or '0')
    local size, announced = size_of(part), command.counts[name] or 0
    if count ~= size then return 'has ' .. count .. ' of ' .. size .. ' items of ' .. name end
    if count ~= announced then return 'has ' .. count .. ' of ' .. announced .. ' items of ' .. name end
  end
end

local function thaw()
  redis.call('DEL', snapshot_key, rebuilding_key)
  redis.call('UNLINK', seen)
  frozen, filling, rebuilding = false, false, ''
end

local function refusal(command, is_new)
  if command.kind == 'begin' then
    if frozen then return 0 end
    return is_new and rebuilding == '' and not is_empty() and 4 or 0
  end
  if command.kind == 'restore' then return parts[command.part] and 0 or 1 end
  if command.kind ~= 'end' and command.kind ~= 'abort' then return 1 end
  if not filling or command.snapshot ~= frozen then return 0 end
  if command.kind == 'end' then return fault_of(command) and 3 or 0 end
  -- A snapshot that was given up before its first record has put nothing into the view.
  return redis.call('HGET', snapshot_key, 'next') ~= '0' and 3 or 0
end

local order_of = {}
function order_of.begin(command, offset)
  if frozen then return { kind = 'busy' } end
  frozen, filling = command.snapshot, rebuilding ~= '' or is_empty()
  redis.call('HSET', snapshot_key, 'id', frozen, 'begin', offset, 'next', 0, 'filling', filling and 1 or 0)
  return { kind = 'begun', offset = offset }
end
order_of['end'] = function(command, offset)
  if command.snapshot ~= frozen then return { kind = 'stale' } end
  local fault = fault_of(command)
  if fault then
    thaw()
    return { kind = 'refused', reason = fault }
  end
  local begin = begin_of()
  redis.call('HSET', last_key, 'id', frozen, 'begin', begin, 'end', offset, 'at', command.at)
  thaw()
  return { kind = 'completed', offset = begin }
end
function order_of.abort(command)
  if command.snapshot ~= frozen then return { kind = 'stale' } end
  thaw()
  return { kind = 'aborted' }
end
`;

/** Scans the field names of the hash KEYS[1]. ARGV: cursor, approximate count. Returns the next cursor and the names. */
export const FIELDS = defineScript(
  'registry-fields',
  `
local reply = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local ids = {}
for i = 1, #reply[2], 2 do ids[#ids + 1] = reply[2][i] end
return { reply[1], ids }
`,
);

/**
 * Returns the values of the given fields of the hash KEYS[1], in order. It returns at least one value, and stops at a
 * missing field or before the values exceed ARGV[1] bytes. ARGV: bytes, then the fields.
 */
export const VALUES = defineScript(
  'registry-values',
  `
local values, bytes = {}, 0
for i = 2, #ARGV do
  local value = redis.call('HGET', KEYS[1], ARGV[i])
  if not value then break end
  bytes = bytes + #value
  if i > 2 and bytes > tonumber(ARGV[1]) then break end
  values[#values + 1] = value
end
return values
`,
);
