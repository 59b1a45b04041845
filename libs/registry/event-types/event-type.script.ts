import { globalKey, type ViewPart } from '@relay/redis';

/**
 * `event-types`: name → JSON record. `event-types:version`: number of changes. `event-types:former`: `<name>/<revision>` → the last
 * record with a former schema.
 */
export const eventTypeKeys = [
  globalKey('event-types'),
  globalKey('event-types', 'version'),
  globalKey('event-types', 'former'),
] as const;

/** Most former schemas of a type: they are small, but a pipeline may apply a changed one with each of its runs. */
export const MAX_FORMER = 100;

/** The parts of a snapshot of the registry. */
export const eventTypeParts: readonly ViewPart[] = [
  { name: 'event-types', key: eventTypeKeys[0], kind: 'hash' },
  { name: 'event-types-version', key: eventTypeKeys[1], kind: 'string' },
  { name: 'event-types-former', key: eventTypeKeys[2], kind: 'hash' },
];

/**
 * Body of a Lua function that applies commands about event types. Its form is that of `applyClientLua`. A command may have a
 * `limit`: the maximum number of event types that are not archived.
 */
export const applyEventTypeLua = `
local types, version, former = unpack(KEYS)
local function is_archived(record) return cjson.decode(record).archived == true end
local function keep(name, before, record)
  local old = cjson.decode(before)
  if old.revision == cjson.decode(record).revision then return end
  if old.schema then redis.call('HSET', former, name .. '/' .. old.revision, before) end
  redis.call('HDEL', former, name .. '/' .. old.revision - ${MAX_FORMER})
end
return function(command)
  local name, record = command.name, command.record
  if (redis.call('HGET', types, name) or '') ~= command.from then return { kind = 'stale' } end
  if command.limit and not is_archived(record) then
    local others = 0
    for _, other in ipairs(redis.call('HVALS', types)) do
      local decoded = cjson.decode(other)
      if decoded.archived ~= true and decoded.name ~= name then others = others + 1 end
    end
    if others >= command.limit then return { kind = 'limit' } end
  end
  if command.from ~= '' then keep(name, command.from, record) end
  redis.call('HSET', types, name, record)
  redis.call('INCR', version)
  return { kind = 'put' }
end
`;
