import { defineScript } from '@relay/redis';

// KEYS clients, credentials, version · ARGV id, record, credential hashes (the one to store first)
export const INSERT_CLIENT = defineScript(
  'insert-client',
  `
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then return 'client-exists' end
for i = 3, #ARGV do
  if redis.call('HEXISTS', KEYS[2], ARGV[i]) == 1 then return 'credential-exists' end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
if ARGV[3] then redis.call('HSET', KEYS[2], ARGV[3], ARGV[1]) end
redis.call('INCR', KEYS[3])
return 'inserted'
`,
);

// KEYS clients, version · ARGV id, record as it was read, record as it shall be
export const REPLACE_CLIENT = defineScript(
  'replace-client',
  `
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('INCR', KEYS[2])
return 1
`,
);
