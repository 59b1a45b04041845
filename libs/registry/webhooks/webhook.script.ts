import { globalKey, NOTICE_LINES, noticeLinesLua, NOTICES, registryVersionLua, type ViewPart } from '@relay/redis';

/** KEYS of every script over webhooks. The names of the other keys are derived from the first key. */
export const webhookKeys = [globalKey('webhooks'), globalKey('registry', 'version')] as const;

/** The parts of a snapshot of the registry. All other keys are rebuilt from these parts. */
export const webhookParts: readonly ViewPart[] = [
  { name: 'webhooks-sealed', key: `${webhookKeys[0]}:sealed`, kind: 'hash' },
  { name: 'webhooks', key: webhookKeys[0], kind: 'hash' },
  { name: 'webhooks-deleted', key: `${webhookKeys[0]}:deleted`, kind: 'sorted set' },
  { name: 'webhooks-version', key: webhookKeys[1], kind: 'string' },
];

/** Number of deletions that are kept for readers. A reader that lacks more deletions reads everything again. */
const DELETIONS_KEPT = 10_000;

/** Limits of one script, because a script blocks Redis while it runs. */
export const SLICE = { records: 100, bytes: 65_536, ids: 1_000 } as const;

/**
 * Lua names of the keys, for the beginning of every script over webhooks:
 *
 * - `webhooks`: hash, id → record as JSON, without sealed values
 * - `webhooks:sealed`: hash, id → credential and signing secrets as JSON; listings do not read them
 * - `webhooks:urls:<partner>`: hash, `<eventType> <url>` → id; it makes URLs unique
 * - `webhooks:origins:<partner>`: hash, `<eventType> <origin>` → number of the partner's webhooks with both
 * - `webhooks:partner:<partner>`, `webhooks:partner:<partner>:<eventType>`: sorted sets of ids, ordered by registration
 * - `webhooks:credential:<hash>`: hash, partner → number of its webhooks with this credential; it gives the partners
 *   without a scan
 * - `webhooks:credential:<hash>:<partner>`: sorted set of the ids of these webhooks, ordered by registration
 * - `registry:version`: counter, raised by every change
 * - `webhooks:changes`: sorted set, id of an existing webhook → version of its last change
 * - `webhooks:deleted`: sorted set, id of a deleted webhook → version of its deletion, for the latest deletions only
 */
const webhookLua = `
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
 * Lua functions that store and delete a webhook with its indexes; they follow `webhookLua` in a script. `index` stores a
 * webhook; its parameter is one table with the record, sealed values, sequence and version. `whole` makes this table from a
 * record.
 */
const indexLua = `
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
-- Adds a stored record to the indexes.
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
-- Removes a webhook from the indexes over members that an update may change.
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

/**
 * Hash, webhook id → epoch milliseconds since which all attempts have failed, and the version of the webhook at that time.
 */
export const FAILING = globalKey('failing');

/**
 * Lua functions that return the refusal of a command, or nil and the webhook of the command. They write nothing, so they can
 * also check a command before it is sent.
 */
const refusalsLua = `
local refusals = {}

-- Returns a refusal, or nil and the webhook that a command names.
local function target(command)
  local id = command.id
  if command.only or not id then
    local ids = redis.call('ZRANGE', owned(command.partnerId, command.eventType), 0, 1)
    if #ids > 1 then return { kind = 'ambiguous' } end
    if id and #ids == 1 and ids[1] ~= id then return { kind = 'stale' } end
    id = ids[1]
  end
  local json = id and redis.call('HGET', webhooks, id)
  local webhook = json and cjson.decode(json)
  if not webhook or webhook.partnerId ~= command.partnerId or webhook.eventType ~= command.eventType then
    return { kind = 'not-found' }
  end
  if command.ifVersion and command.ifVersion ~= webhook.version then return { kind = 'stale' } end
  return nil, webhook
end

-- Refuses a command if too many webhooks have the origin. Only commands of the ingress have such a limit.
local function crowded(command, webhook, origin)
  local there = command.originLimit and redis.call('HGET', origins(webhook.partnerId), origin_field(webhook, origin))
  return there and tonumber(there) >= command.originLimit and { kind = 'origin-limit' } or nil
end

function refusals.register(command)
  local webhook = command.webhook
  local taken = redis.call('HGET', urls(webhook.partnerId), url_field(webhook))
  -- Ids are random. So if the id exists already, the command is a repeat whose result is no longer remembered.
  if not taken and redis.call('HEXISTS', webhooks, webhook.id) == 1 then taken = webhook.id end
  if taken then return { kind = 'exists', id = taken } end
  if redis.call('ZCARD', owned(webhook.partnerId)) >= command.limit then return { kind = 'limit' } end
  return crowded(command, webhook), webhook
end

function refusals.update(command)
  local refusal, webhook = target(command)
  if refusal then return refusal end
  local url, origin = command.changes.url, command.changes.origin
  local taken = url and redis.call('HGET', urls(webhook.partnerId), url_field(webhook, url))
  if taken and taken ~= webhook.id then return { kind = 'exists', id = taken } end
  -- A webhook may stay at its origin, even if a lowered limit is exceeded there.
  return origin and origin ~= webhook.origin and crowded(command, webhook, origin) or nil, webhook
end

function refusals.delete(command) return target(command) end
`;

/**
 * Body of a Lua function with the parameter KEYS. It returns a function that applies a command and returns the result of the
 * command. It also returns a table of functions by the name of a part: each rebuilds the indexes of a restored field. All
 * checks come before all writes, and a result depends only on the command and the stored state. The notice to the partner is
 * written in the same script call as the change, so it is not lost if a process is killed.
 */
export const applyWebhookLua = `${webhookLua}${indexLua}${refusalsLua}${noticeLinesLua}
local apply = {}

local function note(command, webhook, was)
  local function told(type, facts)
    local subject = { id = webhook.id, partnerId = webhook.partnerId, eventType = webhook.eventType, origin = webhook.origin }
    local notice = cjson.encode({ type = type, webhook = subject, facts = facts })
    keep_notice('${NOTICE_LINES}', string.format('%.0f ', command.at) .. notice, ${NOTICES.graceMs})
  end
  local reason, old_secret_until = webhook.disabledReason, command.changes.oldSecretUntil
  if was and webhook.status == 'active' then told('webhook.enabled', { disabledReason = was }) end
  -- There is no notice if the webhook must be verified, because the partner has just changed the address itself.
  if not was and webhook.status == 'disabled' and reason ~= 'unverified' then told('webhook.disabled', { reason = reason }) end
  if type(old_secret_until) == 'number' then told('secret.rotated', { oldSecretUntil = old_secret_until }) end
end

function apply.register(_, webhook)
  local version = redis.call('INCR', version_key)
  webhook.sequence, webhook.version = version, version
  local result = { kind = 'created', id = webhook.id, version = version }
  index(webhook)
  return result
end

function apply.update(command, record)
  local webhook = whole(record)
  local was = webhook.status == 'disabled' and (webhook.disabledReason or '')
  unindex(webhook)
  for name, value in pairs(command.changes) do
    if value == cjson.null then webhook[name] = nil else webhook[name] = value end
  end
  webhook.updatedAt = command.at
  webhook.version = redis.call('INCR', version_key)
  index(webhook)
  local result = { kind = 'updated', id = webhook.id, version = webhook.version }
  if was and webhook.status == 'active' then result.enabled = was end
  pcall(note, command, webhook, was)
  return result
end

function apply.delete(_, webhook)
  local version = redis.call('INCR', version_key)
  forget(webhook, version)
  return { kind = 'deleted', id = webhook.id, version = version }
end

return function(command)
  local refusal, webhook = refusals[command.kind](command)
  return refusal or apply[command.kind](command, webhook)
end, {
  webhooks = function(_, json) enlist(cjson.decode(json)) end,
}
`;

/**
 * Lua functions that read a slice of limited size. `scored` reads the members with a score above `after`, and their scores.
 * `taken` reads the values of ids until the slice is full, but of at least one id, and also returns how many ids it read.
 */
const slicesLua = `
local function scored(key, after, most)
  local found = redis.call('ZRANGEBYSCORE', key, '(' .. after, '+inf', 'WITHSCORES', 'LIMIT', 0, most)
  local ids, scores = {}, {}
  for i = 1, #found, 2 do
    ids[#ids + 1], scores[#scores + 1] = found[i], found[i + 1]
  end
  return ids, scores
end
local function taken(ids, hashes)
  local values, bytes = {}, 0
  for n, id in ipairs(ids) do
    if n > ${SLICE.records} or bytes >= ${SLICE.bytes} then return values, n - 1 end
    local found = {}
    for i, hash in ipairs(hashes) do
      found[i] = redis.call('HGET', hash, id)
      bytes = bytes + #(found[i] or '')
    end
    if n > 1 and bytes > ${SLICE.bytes} then return values, n - 1 end
    for _, value in ipairs(found) do values[#values + 1] = value end
  end
  return values, #ids
end
`;

/**
 * Reads records of one partner, oldest first. ARGV: key name without its beginning `webhooks`, sequence after which to
 * begin, maximum number of records. Returns the records, and whether more may follow.
 */
export const listLua = `${webhookLua}${slicesLua}
local most = math.min(tonumber(ARGV[3]), ${SLICE.records})
local ids = scored(webhooks .. ARGV[1], ARGV[2], most + 1)
local more = #ids > most and 1 or 0
if more == 1 then ids[#ids] = nil end
local found, count = taken(ids, { webhooks })
return { found, count < #ids and 1 or more }
`;

/**
 * Reads ids, oldest first. ARGV: key name without its beginning `webhooks`, sequence after which to begin. Returns the ids
 * and the sequence of the last id, or '' if there are no more ids.
 */
export const idsLua = `${webhookLua}${slicesLua}
local ids, scores = scored(webhooks .. ARGV[1], ARGV[2], ${SLICE.ids})
return { ids, scores[#scores] or '' }
`;

/**
 * Reads the record and the sealed values of each webhook whose id is in ARGV, as many as fit; false for a missing one.
 * Returns these values and the number of ids that were read.
 */
export const wholeLua = `${webhookLua}${slicesLua}
local found, count = taken(ARGV, { webhooks, sealed })
return { found, count }
`;

/** Returns the refusal of the command ARGV[1] in the present state, as JSON; '' if nothing refuses it. */
export const refusalLua = `${webhookLua}${indexLua}${refusalsLua}
local command = cjson.decode(ARGV[1])
local refusal = refusals[command.kind](command)
return refusal and cjson.encode(refusal) or ''
`;

/**
 * Reads a slice of the changes and deletions that a reader lacks. ARGV: the version up to which the reader has the changes,
 * and the version up to which it has the deletions; each is -1 if the reader has nothing. Returns `{version, state, changes
 * until, records, deletions until, ids deleted}`. The state is one of:
 *
 * - `none`: the reader has everything.
 * - `more`: the reader must read another slice, which begins at the end of this slice.
 * - `last`: this slice is the last.
 * - `lost`: the reader must begin again. Redis shows no registry, or it no longer has all deletions that the reader lacks,
 *   or the reader is ahead of Redis, which lost its latest writes (by a failover, or because the end of its append-only file
 *   was lost).
 * - `broken`: Redis has only some of the webhooks' data, because keys were evicted or deleted.
 *
 * Redis keeps only the latest deletions. If older deletions were dropped, the deletions are complete only above the lowest
 * version that is kept.
 *
 * A webhook that changes during these reads gets a higher version, so it appears again in a later slice.
 */
export const changesLua = `${webhookLua}${slicesLua}${registryVersionLua}
local version = registry_version(version_key, KEYS[3], KEYS[4])
local since, gone_since = tonumber(ARGV[1]), tonumber(ARGV[2])
if version < 0 then return { version, 'lost', since, {}, gone_since, {} } end
local count_of_all = redis.call('HLEN', webhooks)
if redis.call('HLEN', sealed) ~= count_of_all or redis.call('ZCARD', changes) ~= count_of_all then
  return { version, 'broken', since, {}, gone_since, {} }
end
if since == version and gone_since == version then return { version, 'none', since, {}, gone_since, {} } end
if since > version or gone_since > version then return { version, 'lost', since, {}, gone_since, {} } end
if gone_since < 0 then gone_since = version end
local lowest = tonumber(redis.call('ZRANGE', deleted, 0, 0, 'WITHSCORES')[2] or '0')
if lowest > gone_since and redis.call('ZCARD', deleted) >= ${DELETIONS_KEPT} then
  return { version, 'lost', since, {}, gone_since, {} }
end
local ids, scores = scored(changes, since, ${SLICE.records})
local found, count = taken(ids, { webhooks })
local gone, ends = scored(deleted, gone_since, ${SLICE.ids})
local is_all, is_all_gone = count == #ids and #ids < ${SLICE.records}, #gone < ${SLICE.ids}
local till, gone_till = is_all and version or tonumber(scores[count]), is_all_gone and version or tonumber(ends[#ends])
return { version, is_all and is_all_gone and 'last' or 'more', till, found, gone_till, gone }
`;
