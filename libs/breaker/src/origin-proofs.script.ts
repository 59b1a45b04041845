import { defineScript } from '@relay/redis';

/** By Redis' own clock, since the clocks of workers may differ. */
const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`;

/**
 * Grants a turn at an origin, reserves one, or answers that none is needed. KEYS: origins by the time of their last 2xx, the
 * origin's turn, endpoints by the time of their reserved turns. ARGV: origin, validity of a 2xx, endpoint, token, lease,
 * milliseconds from one turn to the next, time after which a reserved turn lapses.
 *
 * A new reservation is behind all others, so every endpoint has its turn equally often, however many deliveries it has. A
 * running attempt is expected to take as long again as it has taken so far.
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

/** Notes a 2xx of an origin. KEYS: as for \`takeTurn\`. ARGV: origin, maximum of kept origins, the latest ones. */
export const proveOrigin = defineScript(
  'prove-origin',
  `${NOW}
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -ARGV[2] - 1)
redis.call('DEL', KEYS[2], KEYS[3])
return 1
`,
);
