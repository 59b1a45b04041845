import { globalKey, type ViewPart } from '@relay/redis';

/**
 * `clients` is a hash from client id to JSON record, and `clients:credentials` from keyed hash to client id.
 * `clients:version` is the number of changes.
 */
export const clientKeys = [
  globalKey('clients'),
  globalKey('clients', 'credentials'),
  globalKey('clients', 'version'),
] as const;

/** The keys that a snapshot of the registry contains. */
export const clientParts: readonly ViewPart[] = [
  { name: 'clients', key: clientKeys[0], kind: 'hash' },
  { name: 'clients-credentials', key: clientKeys[1], kind: 'hash' },
  { name: 'clients-version', key: clientKeys[2], kind: 'string' },
];

/**
 * Body of a Lua function that takes KEYS and returns a function that applies a command. Records stay texts, because cjson
 * encodes a decoded empty list as an object.
 */
export const applyClientLua = `
local clients, credentials, version = KEYS[1], KEYS[2], KEYS[3]
local apply = {}

function apply.insert(command)
  if redis.call('HEXISTS', clients, command.clientId) == 1 then return { kind = 'client-exists' } end
  for _, hash in ipairs(command.hashes) do
    if redis.call('HEXISTS', credentials, hash) == 1 then return { kind = 'credential-exists' } end
  end
  redis.call('HSET', clients, command.clientId, command.record)
  if command.hashes[1] then redis.call('HSET', credentials, command.hashes[1], command.clientId) end
  redis.call('INCR', version)
  return { kind = 'inserted' }
end

local function credential_hash(record)
  local credential = cjson.decode(record).credential
  return credential and credential.hash
end

local function another_has(scope, clientId)
  for _, record in ipairs(redis.call('HVALS', clients)) do
    -- Most clients are partners: a search for the text is a tenth of the cost of decoding.
    if string.find(record, '"' .. scope .. '"', 1, true) then
      local client = cjson.decode(record)
      for _, own in ipairs(client.scopes) do
        if own == scope and client.clientId ~= clientId and not client.disabled then return true end
      end
    end
  end
  return false
end

function apply.replace(command)
  if redis.call('HGET', clients, command.clientId) ~= command.from then return { kind = 'stale' } end
  if command.another and not another_has(command.another, command.clientId) then return { kind = 'last' } end
  local before, after = credential_hash(command.from), credential_hash(command.to)
  if before ~= after then
    if before then redis.call('HDEL', credentials, before) end
    if after then redis.call('HSET', credentials, after, command.clientId) end
  end
  redis.call('HSET', clients, command.clientId, command.to)
  redis.call('INCR', version)
  return { kind = 'replaced' }
end

return function(command) return apply[command.kind](command) end
`;
