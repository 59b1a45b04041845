import { NOTICE_LINES, NOTICES, noticeLinesLua } from '@relay/redis';
import { indexLua, webhookLua } from './webhook-layout.script.js';

/**
 * Lua functions that return the refusal of a command, or nil and its webhook. They write nothing, so that a void command is
 * recognised before it is sent.
 */
export const refusalsLua = `
local refusals = {}

-- The refusal of a command that has no webhook, or nil and the webhook.
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

-- Only commands of the ingress have a limit.
local function crowded(command, webhook, origin)
  local there = command.originLimit and redis.call('HGET', origins(webhook.partnerId), origin_field(webhook, origin))
  return there and tonumber(there) >= command.originLimit and { kind = 'origin-limit' } or nil
end

function refusals.register(command)
  local webhook = command.webhook
  local taken = redis.call('HGET', urls(webhook.partnerId), url_field(webhook))
  -- Ids are random, so this is a repeat whose result is no longer remembered.
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
  -- A webhook may stay at its origin, also above a limit that was lowered.
  return origin and origin ~= webhook.origin and crowded(command, webhook, origin) or nil, webhook
end

function refusals.delete(command) return target(command) end
`;

/**
 * Body of a Lua function of KEYS that returns two values: a function that applies a command and returns its result, and a table of
 * functions that rebuild the indexes of a restored field, by the name of its part. All checks stand before all writes, and the
 * result depends only on the command and the stored state. The notice to the partner is written with the change, so no kill
 * of a process comes between them.
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
  -- Of a webhook that has to be verified its partner knows: it has just changed the address.
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
