import { applyClientLua, clientKeys } from '@relay/identity';
import { defineScript, redisKey } from '@relay/redis';
import { applyWebhookLua, webhookKeys } from '@relay/webhooks';

/** Results remembered by command id, for repeats; those of the lowest offsets go first. */
export const RESULTS_KEPT = 10_000;

/** Offset of the last command applied, kept beside the data so that both go back in time together. */
export const APPLIED = redisKey('registry', 'applied');

/** What may be changed: each domain brings the Lua that applies its commands, and its keys. */
const DOMAINS = {
  client: { keys: clientKeys, lua: applyClientLua },
  webhook: { keys: webhookKeys, lua: applyWebhookLua },
} as const;
export type Entity = keyof typeof DOMAINS;

const OWN_KEYS = [APPLIED, redisKey('registry', 'results'), redisKey('registry', 'results', 'order')] as const;
const domains = Object.entries(DOMAINS);

/** One hash slot: one script call writes data, result and applied offset. */
export const registryKeys: readonly string[] = [...OWN_KEYS, ...domains.flatMap(([, { keys }]) => [...keys])];

let at: number = OWN_KEYS.length;
const domainsLua = domains.map(([entity, { keys, lua }]) => {
  const own = keys.map(() => `KEYS[${(at += 1)}]`).join(', ');
  return `domains['${entity}'] = (function(KEYS)\n${lua}\nend)({ ${own} })`;
});

/**
 * Applies commands in the order of the log. ARGV: id whose result is asked or '', the first offset that the slice covers,
 * then offset and record of each. Answers the offset applied, the result asked for as JSON or '', and whether it stopped at
 * a record that only a newer relay can apply.
 *
 * Nothing is applied when commands before the slice are missing; what is applied already is passed over. A command that is in
 * the log twice is applied once: its result is found by its id. What is no command is passed over by every process alike.
 * The offset is written first: where Redis takes no writes (full, read-only) the script ends there and has done nothing, so
 * that a fault further on is one of the command itself and the same everywhere.
 */
export const APPLY = defineScript(
  'registry-apply',
  `
local applied_key, results, order = KEYS[1], KEYS[2], KEYS[3]
local domains = {}
${domainsLua.join('\n')}

local function remember(id, offset, result)
  redis.call('HSET', results, id, result)
  redis.call('ZADD', order, offset, id)
  local surplus = redis.call('ZCARD', order) - ${RESULTS_KEPT}
  if surplus <= 0 then return end
  for _, old in ipairs(redis.call('ZRANGE', order, 0, surplus - 1)) do
    redis.call('HDEL', results, old)
    redis.call('ZREM', order, old)
  end
end

local applied = tonumber(redis.call('GET', applied_key) or '-1')
local newer = 0
if tonumber(ARGV[2]) <= applied + 1 then
  for i = 3, #ARGV, 2 do
    local offset = tonumber(ARGV[i])
    if offset > applied then
      local read, record = pcall(cjson.decode, ARGV[i + 1])
      local ours = read and type(record) == 'table' and type(record.v) == 'number' and type(record.id) == 'string'
      local domain = ours and record.v == 1 and domains[record.entity]
      if ours and not domain then
        newer = 1
        break
      end
      redis.call('SET', applied_key, offset)
      applied = offset
      if ours and redis.call('HEXISTS', results, record.id) == 0 then
        local done, result = pcall(domain, record.command)
        remember(record.id, offset, cjson.encode(done and result or { kind = 'failed' }))
      end
    end
  end
end
return { applied, ARGV[1] ~= '' and redis.call('HGET', results, ARGV[1]) or '', newer }
`,
);
