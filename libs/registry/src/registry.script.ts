import { applyClientLua, clientKeys } from '@relay/identity';
import { defineScript, redisKey } from '@relay/redis';
import { applyWebhookLua, webhookKeys } from '@relay/webhooks';

/**
 * Results remembered by command id, for repeats: a command whose answer was lost may be in the log twice, within the time that
 * a sender waits. Those of the lowest offsets go first: all above the most, and above the least what is older than that time.
 * The clock is that of the commands, so that whoever applies them remembers the same.
 */
export const RESULTS = { most: 10_000, least: 1_000, ms: 60_000 } as const;

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

-- A result stands behind the time of its command, or of a later one that came before: a sender's clock may be behind.
local function time_of(id) return id and tonumber(string.match(redis.call('HGET', results, id) or '', '^%d+ ')) or 0 end
local function remember(id, offset, at, result)
  local clock = math.max(at, time_of(redis.call('ZRANGE', order, -1, -1)[1]))
  redis.call('HSET', results, id, string.format('%.0f ', clock) .. result)
  redis.call('ZADD', order, offset, id)
  for count = redis.call('ZCARD', order), ${RESULTS.least + 1}, -1 do
    local oldest = redis.call('ZRANGE', order, 0, 0)[1]
    if count <= ${RESULTS.most} and time_of(oldest) >= clock - ${RESULTS.ms} then return end
    redis.call('HDEL', results, oldest)
    redis.call('ZREM', order, oldest)
  end
end
local function answer(id) return id ~= '' and string.match(redis.call('HGET', results, id) or '', '^%d+ (.*)$') or '' end

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
        local at = type(record.at) == 'number' and record.at or 0
        remember(record.id, offset, at, cjson.encode(done and result or { kind = 'failed' }))
      end
    end
  end
end
return { applied, answer(ARGV[1]), newer }
`,
);
