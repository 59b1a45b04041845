import { globalKey, type ViewPart } from '@relay/redis';

/** `event-types`: name → JSON record. `event-types:version`: number of changes. */
export const eventTypeKeys = [globalKey('event-types'), globalKey('event-types', 'version')] as const;

/** The parts of a snapshot of the registry. */
export const eventTypeParts: readonly ViewPart[] = [
  { name: 'event-types', key: eventTypeKeys[0], kind: 'hash' },
  { name: 'event-types-version', key: eventTypeKeys[1], kind: 'string' },
];

/** As `applyClientLua`. A limit holds for the types that are not archived. */
export const applyEventTypeLua = `
local types, version = KEYS[1], KEYS[2]
local function is_archived(record) return cjson.decode(record).archived == true end
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
  redis.call('HSET', types, name, record)
  redis.call('INCR', version)
  return { kind = 'put' }
end
`;
