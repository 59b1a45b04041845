import { defineScript } from '@relay/redis';

/** Of Redis' own clock, so that the clocks of workers need not agree. */
const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/**
 * Gives a turn at an origin, promises one, or says that none is needed. KEYS: origins by the time of their last 2xx, the
 * origin's turn, endpoints by the time of the turn they were promised. ARGV: origin, for how long a 2xx counts, endpoint,
 * token, lease, milliseconds from one turn to the next, for how long a promised turn is kept.
 *
 * An endpoint is promised a turn behind all that were promised one, so none of them, however many deliveries of its wait,
 * comes more often than another. Of an attempt that runs nobody knows when it ends: it is expected to take as long again.
 */
export const takeTurn = defineScript(
  'take-turn',
  `${NOW}
local provenAt = redis.call('ZSCORE', KEYS[1], ARGV[1])
if provenAt and tonumber(provenAt) > now - ARGV[2] then return {'proven', tostring(provenAt)} end
local endpoint, lease, spacing = ARGV[3], tonumber(ARGV[5]), tonumber(ARGV[6])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now - ARGV[7])
local turn = redis.call('HMGET', KEYS[2], 'token', 'began', 'until')
local free = tonumber(turn[3] or 0)
if free > now + lease + spacing then free = 0 end -- the clock of Redis was wrong then, or is now
local head = redis.call('ZRANGE', KEYS[3], 0, 0)[1]
if free <= now and (not head or head == endpoint) then
  redis.call('ZREM', KEYS[3], endpoint)
  redis.call('HSET', KEYS[2], 'token', ARGV[4], 'began', now, 'until', now + lease)
  redis.call('PEXPIRE', KEYS[2], lease + spacing)
  return {'granted'}
end
local promised = tonumber(redis.call('ZSCORE', KEYS[3], endpoint) or 0)
if promised <= now or promised > now + 3600000 then
  local expected = now
  if free > now then
    expected = free
    if turn[1] then expected = math.min(free, math.max(turn[2] + spacing, now + math.max(now - turn[2], 100))) end
  end
  redis.call('ZREM', KEYS[3], endpoint)
  local last = redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')[2]
  promised = last and math.max(expected, tonumber(last) + spacing) or expected
  redis.call('ZADD', KEYS[3], promised, endpoint)
  redis.call('PEXPIRE', KEYS[3], promised - now + lease + spacing)
end
return {'refused', math.max(promised - now, 1), redis.call('ZCARD', KEYS[3])}
`,
);

/** Ends a turn. KEYS: the origin's turn. ARGV: token, whether it was used, milliseconds from one turn to the next. */
export const giveTurnBack = defineScript(
  'give-turn-back',
  `${NOW}
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
local next = redis.call('HGET', KEYS[1], 'began') + ARGV[3]
if ARGV[2] == '1' and next > now then
  redis.call('HDEL', KEYS[1], 'token')
  redis.call('HSET', KEYS[1], 'until', next)
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
else
  redis.call('DEL', KEYS[1])
end
return 1
`,
);

/** Notes that an origin answered 2xx. KEYS: as of \`takeTurn\`. ARGV: origin, most origins that are kept: those that answered last. */
export const proveOrigin = defineScript(
  'prove-origin',
  `${NOW}
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -ARGV[2] - 1)
redis.call('DEL', KEYS[2], KEYS[3])
return 1
`,
);
