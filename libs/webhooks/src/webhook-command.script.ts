import { redisKey, type ViewPart } from '@relay/redis';

/** The keys every script over webhooks is given, in this order; the names of the indexes are made from the first. */
export const webhookKeys = [redisKey('webhooks'), redisKey('registry', 'version')] as const;

/** What a snapshot of the registry brings back; the other keys are made from it. */
export const webhookParts: readonly ViewPart[] = [
  { name: 'webhooks', key: webhookKeys[0], kind: 'hash' },
  { name: 'webhook-changes', key: `${webhookKeys[0]}:changes`, kind: 'sorted set' },
  { name: 'webhook-version', key: webhookKeys[1], kind: 'string' },
];

/** Changes remembered for readers; one that is further behind reads everything. */
export const CHANGES_KEPT = 10_000;

/**
 * Lua names of what is kept, put before every script over webhooks:
 *
 * - `webhooks`: hash, id → record as JSON
 * - `webhooks:urls:<partner>`: hash, `<eventType> <url>` → id (uniqueness)
 * - `webhooks:partner:<partner>`, `webhooks:partner:<partner>:<eventType>`: sorted sets of ids by registration (order)
 * - `webhooks:credential:<hash>`: hash, partner → how many of its webhooks have this credential (whose it is, without a scan)
 * - `registry:version`: counter, raised by every change; `webhooks:changes`: sorted set, id → version of its last change
 */
export const webhookLua = `
local webhooks, version_key = KEYS[1], KEYS[2]
local changes = webhooks .. ':changes'
local function urls(partner) return webhooks .. ':urls:' .. partner end
local function owned(partner, event_type)
  return webhooks .. ':partner:' .. partner .. (event_type and ':' .. event_type or '')
end
-- HMGET in slices: Lua's stack takes about 8,000 arguments.
local function records(ids)
  local found = {}
  for from = 1, #ids, 1000 do
    local slice = redis.call('HMGET', webhooks, unpack(ids, from, math.min(from + 999, #ids)))
    for i = 1, #slice do found[from + i - 1] = slice[i] end
  end
  return found
end
`;

/**
 * Body of a Lua function of KEYS that returns what applies a command, a function of the command that returns its result, and
 * what makes the indexes of a field that a snapshot brought back, by the name of its part.
 * All checks stand before all writes, and nothing but the command and what is stored decides.
 */
export const applyWebhookLua = `${webhookLua}
local command

local function moved(id)
  local version = redis.call('INCR', version_key)
  redis.call('ZADD', changes, version, id)
  redis.call('ZREMRANGEBYRANK', changes, 0, -${CHANGES_KEPT + 1})
  return version
end
local function count_credential(webhook, by)
  local key = webhooks .. ':credential:' .. webhook.credentialHash
  if redis.call('HINCRBY', key, webhook.partnerId, by) <= 0 then redis.call('HDEL', key, webhook.partnerId) end
end
local function url_field(webhook, url) return webhook.eventType .. ' ' .. (url or webhook.url) end
local function index(webhook)
  redis.call('HSET', urls(webhook.partnerId), url_field(webhook), webhook.id)
  count_credential(webhook, 1)
end
local function enlist(webhook)
  redis.call('ZADD', owned(webhook.partnerId), webhook.sequence, webhook.id)
  redis.call('ZADD', owned(webhook.partnerId, webhook.eventType), webhook.sequence, webhook.id)
end
local function keep(webhook)
  redis.call('HSET', webhooks, webhook.id, cjson.encode(webhook))
  index(webhook)
end
local function unindex(webhook)
  redis.call('HDEL', urls(webhook.partnerId), url_field(webhook))
  count_credential(webhook, -1)
end
-- The webhook a command means, or the result that says why there is none.
local function target()
  local ids = { command.id }
  if command.only or not command.id then
    ids = redis.call('ZRANGE', owned(command.partnerId, command.eventType), 0, -1)
    if #ids > 1 then return nil, { kind = 'ambiguous', ids = ids } end
    if command.id and #ids == 1 and ids[1] ~= command.id then return nil, { kind = 'stale' } end
  end
  local json = #ids == 1 and redis.call('HGET', webhooks, ids[1])
  local webhook = json and cjson.decode(json)
  if not webhook or webhook.partnerId ~= command.partnerId or webhook.eventType ~= command.eventType then
    return nil, { kind = 'not-found' }
  end
  if command.ifVersion and command.ifVersion ~= webhook.version then return nil, { kind = 'stale' } end
  return webhook
end

local apply = {}

function apply.register()
  local webhook = command.webhook
  local taken = redis.call('HGET', urls(webhook.partnerId), url_field(webhook))
  if taken then return { kind = 'exists', id = taken } end
  if redis.call('ZCARD', owned(webhook.partnerId)) >= command.limit then return { kind = 'limit' } end
  local version = moved(webhook.id)
  webhook.sequence, webhook.version = version, version
  keep(webhook)
  enlist(webhook)
  return { kind = 'created', id = webhook.id, version = version }
end

function apply.update()
  local webhook, refusal = target()
  if not webhook then return refusal end
  local changed = command.changes
  local taken = changed.url and redis.call('HGET', urls(webhook.partnerId), url_field(webhook, changed.url))
  if taken and taken ~= webhook.id then return { kind = 'exists', id = taken } end
  local was = webhook.status == 'disabled' and (webhook.disabledReason or '')
  unindex(webhook)
  for name, value in pairs(changed) do
    if value == cjson.null then webhook[name] = nil else webhook[name] = value end
  end
  webhook.updatedAt = command.at
  webhook.version = moved(webhook.id)
  keep(webhook)
  local result = { kind = 'updated', id = webhook.id, version = webhook.version }
  if was and webhook.status == 'active' then result.enabled = was end
  return result
end

function apply.delete()
  local webhook, refusal = target()
  if not webhook then return refusal end
  unindex(webhook)
  redis.call('HDEL', webhooks, webhook.id)
  redis.call('ZREM', owned(webhook.partnerId), webhook.id)
  redis.call('ZREM', owned(webhook.partnerId, webhook.eventType), webhook.id)
  return { kind = 'deleted', id = webhook.id, version = moved(webhook.id) }
end

return function(given)
  command = given
  return apply[command.kind]()
end, {
  webhooks = function(_, json)
    local webhook = cjson.decode(json)
    index(webhook)
    enlist(webhook)
  end,
}
`;
