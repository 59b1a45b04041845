import { CHANGES_KEPT, webhookLua } from './webhook-command.script.js';

/** Records of one partner, oldest first. ARGV: partner, event type or '', sequence after which, how many (-1: all). */
export const listLua = `${webhookLua}
local key = owned(ARGV[1], ARGV[2] ~= '' and ARGV[2])
return records(redis.call('ZRANGEBYSCORE', key, '(' .. ARGV[3], '+inf', 'LIMIT', 0, ARGV[4]))
`;

/**
 * What a reader at version ARGV[1] is missing: `{version, extent, ids, records}`, where a record of a deleted webhook is
 * false. `all` when the reader holds nothing (-1), is behind the change log's start, or ahead of Redis (which then went
 * back in time, by a failover or a lost tail of its log). The log lost nothing above its lowest version; one that was
 * never trimmed lost nothing at all.
 */
export const changesLua = `${webhookLua}
local version, ours = tonumber(redis.call('GET', version_key) or '0'), tonumber(ARGV[1])
if ours == version then return { version, 'none', {}, {} } end
local lowest = tonumber(redis.call('ZRANGE', changes, 0, 0, 'WITHSCORES')[2] or '0')
if ours >= 0 and ours < version and (lowest <= ours or redis.call('ZCARD', changes) < ${CHANGES_KEPT}) then
  local ids = redis.call('ZRANGEBYSCORE', changes, '(' .. ours, '+inf')
  return { version, 'changes', ids, records(ids) }
end
return { version, 'all', {}, redis.call('HVALS', webhooks) }
`;
