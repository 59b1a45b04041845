import { registryVersionLua } from '@relay/redis';
import { refusalsLua } from './webhook-command.script.js';
import { indexLua, SLICE, webhookLua, DELETIONS_KEPT } from './webhook-layout.script.js';

/**
 * Lua functions that take a bounded slice. \`scored\` reads members with their scores above a score; \`taken\` reads the values
 * of ids one by one until a slice is full, at least one, and answers how many ids it came to.
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
 * Records of one partner, oldest first. ARGV: key behind \`webhooks\`, sequence after which, how many at most. Answers the
 * records and whether more may follow the last of them.
 */
export const listLua = `${webhookLua}${slicesLua}
local most = math.min(tonumber(ARGV[3]), ${SLICE.records})
local ids = scored(webhooks .. ARGV[1], ARGV[2], most + 1)
local more = #ids > most and 1 or 0
if more == 1 then ids[#ids] = nil end
local found, count = taken(ids, { webhooks })
return { found, count < #ids and 1 or more }
`;

/** Ids behind a sequence, oldest first. ARGV: key behind \`webhooks\`, sequence. Answers the ids and the sequence of the last one. */
export const idsLua = `${webhookLua}${slicesLua}
local ids, scores = scored(webhooks .. ARGV[1], ARGV[2], ${SLICE.ids})
return { ids, scores[#scores] or '' }
`;

/** Record and sealed values, in turns, of the webhooks whose ids are ARGV, as many as fit; false if a webhook is missing. Answers the number of ids. */
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
 * A slice of what a reader is missing. ARGV: version after which it lacks changes, version after which it lacks deletions,
 * each -1 for one that holds nothing. Answers \`{version, state, changes until, records, deletions until, ids deleted}\`;
 * the state is \`none\`, \`more\` when another slice is to be read from where this one ends, \`last\`, or \`lost\` when the reader
 * must begin again: Redis shows no registry, or the reader is behind the start of the deletions, or it is ahead of Redis (which
 * then went back in time, by a failover or a lost tail of its log), or \`broken\` when Redis holds a part of the webhooks only. The
 * deletions are complete above their lowest version; if none was ever dropped, they are complete.
 *
 * A webhook that changes while a reader is under way has a higher version then, so it comes again in a later slice.
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
