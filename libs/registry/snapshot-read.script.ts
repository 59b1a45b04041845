import { defineScript } from '@relay/redis';

/** Scans the field names of a hash. KEYS: the hash; ARGV: cursor, approximate count. Returns cursor and names. */
export const FIELDS = defineScript(
  'registry-fields',
  `
local reply = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
local ids = {}
for i = 1, #reply[2], 2 do ids[#ids + 1] = reply[2][i] end
return { reply[1], ids }
`,
);

/** Values of the fields in order, at least one, until they have ARGV[1] bytes. KEYS: the hash; ARGV: bytes, then fields. */
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
