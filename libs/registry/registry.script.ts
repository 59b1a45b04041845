import { applyEventTypeLua, eventTypeKeys, eventTypeParts } from '@relay/event-types';
import { applyClientLua, clientKeys, clientParts } from '@relay/identity';
import { defineScript, globalKey, REGISTRY_APPLIED, REGISTRY_REBUILDING, type ViewPart } from '@relay/redis';
import { applyWebhookLua, webhookKeys, webhookParts } from '@relay/webhooks';
import { snapshotLua } from './snapshot.script.js';

/** `registry:keys`: name of an encryption key → its check value. */
export const keyKeys = [globalKey('registry', 'keys')] as const;

const keyParts: readonly ViewPart[] = [{ name: 'keys', key: keyKeys[0], kind: 'hash' }];

/**
 * Body of a Lua function, as `applyWebhookLua` describes it. A check value is never replaced, so a name stands for one key
 * until an operator removes the name.
 */
const applyKeyLua = `
local keys = KEYS[1]
local apply = {}
function apply.register(command)
  if redis.call('HSETNX', keys, command.kid, command.check) == 1 then return { kind = 'registered' } end
  return { kind = redis.call('HGET', keys, command.kid) == command.check and 'known' or 'differs' }
end
function apply.forget(command)
  return { kind = redis.call('HDEL', keys, command.kid) == 1 and 'forgotten' or 'unknown' }
end
return function(command) return apply[command.kind](command) end
`;

/**
 * Limits of the results that Redis remembers by command id. If the broker's answer to an append is lost, the log may have
 * the command twice, and the second copy must not be applied. The two copies are less than `ms` milliseconds apart. Each new
 * command removes at most `gone` results, those with the lowest offsets first. A result is removed if there are more than
 * `most` results, or if there are more than `least` and the result is older than `ms` milliseconds. Ages follow from the
 * times in the commands, so every process remembers the same results.
 */
export const RESULTS = { most: 10_000, least: 1_000, ms: 60_000, gone: 10 } as const;

/** Key for the deployment whose state is in this Redis. It is no part of the view, so a rebuild keeps it. */
export const CLAIM = globalKey('deployment');
/**
 * Hash of the snapshot that is being written: its id, the offset of its first record, and the number of its next record.
 * While this hash exists, no other change is applied to the registry.
 */
export const SNAPSHOT = globalKey('registry', 'snapshot');
/** The last completed snapshot. */
export const LAST_SNAPSHOT = globalKey('registry', 'snapshot', 'last');
export const RESULTS_KEY = globalKey('registry', 'results');
export const RESULTS_ORDER = globalKey('registry', 'results', 'order');

/**
 * The entities of the registry. Each domain has the Lua that applies its commands, the keys of this Lua, and the parts of
 * its state.
 */
const DOMAINS = {
  client: { keys: clientKeys, lua: applyClientLua, parts: clientParts },
  webhook: { keys: webhookKeys, lua: applyWebhookLua, parts: webhookParts },
  key: { keys: keyKeys, lua: applyKeyLua, parts: keyParts },
  eventType: { keys: eventTypeKeys, lua: applyEventTypeLua, parts: eventTypeParts },
} as const;
export type Entity = keyof typeof DOMAINS;

const OWN_KEYS = [
  REGISTRY_APPLIED,
  RESULTS_KEY,
  RESULTS_ORDER,
  REGISTRY_REBUILDING,
  SNAPSHOT,
  LAST_SNAPSHOT,
  globalKey('registry', 'snapshot', 'seen'),
  CLAIM,
] as const;
const domains = Object.entries(DOMAINS);

/** The parts of a snapshot, in this order; the remembered results follow them. */
export const PARTS: readonly ViewPart[] = domains.flatMap(([, { parts }]) => [...parts]);

/**
 * KEYS of the script that applies commands. All are in one hash slot, so one call writes data, result and applied offset.
 */
export const registryKeys: readonly string[] = [...OWN_KEYS, ...domains.flatMap(([, { keys }]) => [...keys])];

let at: number = OWN_KEYS.length;
const domainsLua = domains.map(([entity, { keys, lua }]) => {
  const own = keys.map(() => `KEYS[${(at += 1)}]`).join(', ');
  return `add('${entity}', (function(KEYS)\n${lua}\nend)({ ${own} }))`;
});

/** The states that `APPLY` returns, by their number. */
export const STATES = ['applied', 'newer', 'emptying', 'broken', 'unclean', 'unclaimed'] as const;

/**
 * Applies commands in the order of the log. ARGV: the id of the command whose result is requested (or ''), the first offset
 * of the slice, the claim of the sender, then offset and record of each command. Returns the applied offset, the requested
 * result as JSON (or ''), and the number of one of `STATES`:
 *
 * - `applied`: no record stopped the script
 * - `newer`: only a newer relay can apply the next record
 * - `emptying`: the view is being emptied for a rebuild
 * - `broken`: the view is being filled from a snapshot that is not complete
 * - `unclean`: the log begins with a snapshot although Redis is not empty
 * - `unclaimed`: Redis has another claim or none
 *
 * If commands before the slice are missing, nothing is applied. Commands that were applied earlier are skipped. A command
 * that is in the log twice is applied once, because its id has a result already. Every process skips a record that is no
 * command. The offset is written first. Therefore, if Redis takes no writes (because it is full or read-only), the script
 * fails before any effect. A later fault comes from the command itself and occurs in every process.
 */
export const APPLY = defineScript(
  'registry-apply',
  `
local applied_key, results, order, rebuilding_key, snapshot_key, last_key, seen, claim_key = unpack(KEYS, 1, ${OWN_KEYS.length})
local domains, restored = {}, {}
local function add(entity, apply, hooks)
  domains[entity] = apply
  for part, hook in pairs(hooks or {}) do restored[part] = hook end
end
${domainsLua.join('\n')}

${snapshotLua(PARTS)}

-- The time stored with a result is never before that of the previous result, although a sender's clock may be slow.
local function time_of(id) return id and tonumber(string.match(redis.call('HGET', results, id) or '', '^%d+ ')) or 0 end
local function remember(id, offset, at, result)
  -- While a snapshot fills the view, earlier results are missing or incomplete.
  local clock = frozen and at or math.max(at, time_of(redis.call('ZRANGE', order, -1, -1)[1]))
  redis.call('HSET', results, id, string.format('%.0f ', clock) .. result)
  redis.call('ZADD', order, offset, id)
  if frozen then return end -- the snapshot under way contains these results, so none may be deleted
  local size = redis.call('ZCARD', order)
  for count = size, math.max(${RESULTS.least + 1}, size - ${RESULTS.gone - 1}), -1 do
    local oldest = redis.call('ZRANGE', order, 0, 0)[1]
    if count <= ${RESULTS.most} and time_of(oldest) >= clock - ${RESULTS.ms} then return end
    redis.call('HDEL', results, oldest)
    redis.call('ZREM', order, oldest)
  end
end
local function answer(id) return id ~= '' and string.match(redis.call('HGET', results, id) or '', '^%d+ (.*)$') or '' end

local applied = redis.call('GET', applied_key)
local is_new = not applied
applied = tonumber(applied or '-1')
local state = 0
if redis.call('GET', claim_key) ~= ARGV[3] then
  state = 5
elseif string.sub(rebuilding, 1, 5) == 'empty' then
  state = 2
elseif tonumber(ARGV[2]) <= applied + 1 then
  for i = 4, #ARGV, 2 do
    local offset = tonumber(ARGV[i])
    if offset > applied then
      local read, record = pcall(cjson.decode, ARGV[i + 1])
      local ours = read and type(record) == 'table' and type(record.v) == 'number' and type(record.id) == 'string'
      local domain = ours and record.v == 1 and domains[record.entity]
      local snapshot = ours and record.v == 1 and record.entity == 'snapshot' and type(record.command) == 'table'
      if ours and not domain and not snapshot then state = 1 end
      if snapshot then state = refusal(record.command, is_new) end
      if state ~= 0 then break end
      redis.call('SET', applied_key, offset)
      applied, is_new = offset, false
      if snapshot and record.command.kind == 'restore' then
        pcall(restore, record.command)
      elseif ours and redis.call('HEXISTS', results, record.id) == 0 then
        local done, result = true, { kind = 'frozen' }
        if snapshot then
          done, result = pcall(order_of[record.command.kind], record.command, offset)
        elseif not frozen then
          done, result = pcall(domain, record.command)
        end
        local at = type(record.at) == 'number' and record.at or 0
        remember(record.id, offset, at, cjson.encode(done and result or { kind = 'failed' }))
      end
    end
  end
end
return { applied, answer(ARGV[1]), state }
`,
);

export const rebuildKeys = [REGISTRY_APPLIED, REGISTRY_REBUILDING] as const;

/**
 * A rebuild removes these keys and all keys whose names extend them (the view, its indexes, the results), but not
 * `rebuildKeys`.
 */
export const VIEW_KEYS = ['clients', 'webhooks', 'event-types', 'registry'].map((name) => globalKey(name));

/**
 * Begins to empty the view, which the snapshot at offset ARGV[1] fills afterwards. Returns 0 if Redis already has this
 * snapshot or stands right before it, because another process was faster.
 */
export const EMPTY = defineScript(
  'registry-empty',
  `
local applied, start = redis.call('GET', KEYS[1]), tonumber(ARGV[1])
local next = tonumber(applied or '-1') + 1
if next > start or (applied and next == start) then return 0 end
redis.call('SET', KEYS[2], 'empty ' .. ARGV[1])
return 1
`,
);

/** Deletes the keys from KEYS[3] on, but only while the view is being emptied for the snapshot at offset ARGV[1]. */
export const REMOVE = defineScript(
  'registry-remove',
  `
if redis.call('GET', KEYS[2]) ~= 'empty ' .. ARGV[1] then return 0 end
for i = 3, #KEYS do redis.call('UNLINK', KEYS[i]) end
return 1
`,
);

/** Ends the emptying. The first record of the snapshot is then the next record to apply. */
export const EMPTIED = defineScript(
  'registry-emptied',
  `
if redis.call('GET', KEYS[2]) ~= 'empty ' .. ARGV[1] then return 0 end
redis.call('SET', KEYS[1], tonumber(ARGV[1]) - 1)
redis.call('SET', KEYS[2], 'fill ' .. ARGV[1])
return 1
`,
);
