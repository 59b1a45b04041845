import { globalKey, type ViewPart } from '@relay/redis';

/** KEYS of every script over webhooks; the names of the other keys derive from the first. */
export const webhookKeys = [globalKey('webhooks'), globalKey('registry', 'version')] as const;

/** The parts of a snapshot of the registry; the other keys are rebuilt from them. */
export const webhookParts: readonly ViewPart[] = [
  { name: 'webhooks-sealed', key: `${webhookKeys[0]}:sealed`, kind: 'hash' },
  { name: 'webhooks', key: webhookKeys[0], kind: 'hash' },
  { name: 'webhooks-deleted', key: `${webhookKeys[0]}:deleted`, kind: 'sorted set' },
  { name: 'webhooks-version', key: webhookKeys[1], kind: 'string' },
];

/** Number of deletions kept for readers; a reader further behind reads everything. */
export const DELETIONS_KEPT = 10_000;

/** Limits of one script, which blocks Redis. */
export const SLICE = { records: 100, bytes: 65_536, ids: 1_000 } as const;

/**
 * Lua names of the keys, for the head of every script over webhooks:
 *
 * - `webhooks`: hash, id → record as JSON, without anything sealed
 * - `webhooks:sealed`: hash, id → credential and signing secrets as JSON; lists do not read them
 * - `webhooks:urls:<partner>`: hash, `<eventType> <url>` → id (uniqueness)
 * - `webhooks:origins:<partner>`: hash, `<eventType> <origin>` → how many of its webhooks are there
 * - `webhooks:partner:<partner>`, `webhooks:partner:<partner>:<eventType>`: sorted sets of ids by registration (order)
 * - `webhooks:credential:<hash>`: hash, partner → how many of its webhooks have this credential (its partners, without a scan)
 * - `webhooks:credential:<hash>:<partner>`: sorted set of the ids of those, by registration
 * - `registry:version`: counter, raised by every change; `webhooks:changes`: sorted set, id → version of its last change,
 *   of each webhook that there is; `webhooks:deleted`: likewise, of the latest that there are no more
 */
export const webhookLua = `
local webhooks, version_key = KEYS[1], KEYS[2]
local sealed, changes, deleted = webhooks .. ':sealed', webhooks .. ':changes', webhooks .. ':deleted'
local SEALED = { 'credential', 'secrets', 'oldSecretUntil', 'olderSecretUntil' }
local function urls(partner) return webhooks .. ':urls:' .. partner end
local function origins(partner) return webhooks .. ':origins:' .. partner end
local function owned(partner, event_type)
  return webhooks .. ':partner:' .. partner .. (event_type and ':' .. event_type or '')
end
local function having(hash, partner) return webhooks .. ':credential:' .. hash .. (partner and ':' .. partner or '') end
`;

/**
 * Lua functions that store and delete a webhook with its indexes, for the place after \`webhookLua\`. \`index\` takes a webhook with
 * its sealed values, sequence and version in one table, whatever is stored of it; \`whole\` makes that table of a record.
 */
export const indexLua = `
local function whole(webhook)
  local json = redis.call('HGET', sealed, webhook.id)
  for name, value in pairs(json and cjson.decode(json) or {}) do webhook[name] = value end
  webhook.credentialKind = nil
  return webhook
end
local function url_field(webhook, url) return webhook.eventType .. ' ' .. (url or webhook.url) end
local function origin_field(webhook, origin) return webhook.eventType .. ' ' .. (origin or webhook.origin) end
local function count(key, field, by)
  if redis.call('HINCRBY', key, field, by) <= 0 then redis.call('HDEL', key, field) end
end
-- Indexes of a stored record.
local function enlist(webhook)
  local id, partner, hash = webhook.id, webhook.partnerId, webhook.credentialHash
  redis.call('HSET', urls(partner), url_field(webhook), id)
  count(origins(partner), origin_field(webhook), 1)
  count(having(hash), partner, 1)
  redis.call('ZADD', having(hash, partner), webhook.sequence, id)
  redis.call('ZADD', owned(partner), webhook.sequence, id)
  redis.call('ZADD', owned(partner, webhook.eventType), webhook.sequence, id)
  redis.call('ZADD', changes, webhook.version, id)
end
local function index(webhook)
  local apart = {}
  for _, name in ipairs(SEALED) do apart[name], webhook[name] = webhook[name], nil end
  webhook.credentialKind = apart.credential.kind
  redis.call('HSET', webhooks, webhook.id, cjson.encode(webhook))
  redis.call('HSET', sealed, webhook.id, cjson.encode(apart))
  enlist(webhook)
end
-- Indexes over members that an update may change.
local function unindex(webhook)
  local id, partner, hash = webhook.id, webhook.partnerId, webhook.credentialHash
  redis.call('HDEL', urls(partner), url_field(webhook))
  count(origins(partner), origin_field(webhook), -1)
  count(having(hash), partner, -1)
  redis.call('ZREM', having(hash, partner), id)
end
local function forget(webhook, version)
  local id, partner = webhook.id, webhook.partnerId
  unindex(webhook)
  redis.call('HDEL', webhooks, id)
  redis.call('HDEL', sealed, id)
  redis.call('ZREM', owned(partner), id)
  redis.call('ZREM', owned(partner, webhook.eventType), id)
  redis.call('ZREM', changes, id)
  redis.call('ZADD', deleted, version, id)
  redis.call('ZREMRANGEBYRANK', deleted, 0, -${DELETIONS_KEPT + 1})
end
`;

/** Hash, webhook id → epoch milliseconds since which its attempts only fail, and its version then. */
export const FAILING = globalKey('failing');
