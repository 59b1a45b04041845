import { defineScript } from '@relay/redis';

/**
 * Successful and failed attempts of webhooks in the window, as `history-add` and `history-failures` keep them: the former to the
 * millisecond, the latter by whole hours. Two numbers for each webhook, whatever else its entries hold.
 *
 * KEYS: base of the history, base of the failures. ARGV: window in milliseconds, webhooks.
 */
export const readTotals = defineScript(
  'history-totals',
  `local HOUR = 3600000
local time = redis.call('TIME')
local oldest = time[1] * 1000 + math.floor(time[2] / 1000) - tonumber(ARGV[1])
local first = math.floor(oldest / HOUR)
local totals = {}
for i = 2, #ARGV do
  local stream, key, failed = KEYS[1] .. ':' .. ARGV[i], KEYS[2] .. ':' .. ARGV[i], 0
  -- The writers drop whole nodes, and none while there is nothing to write.
  redis.call('XTRIM', stream, 'MINID', string.format('%d', oldest))
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if (tonumber(field) or 0) >= first then failed = failed + tonumber(redis.call('HGET', key, field)) end
  end
  totals[#totals + 1] = redis.call('XLEN', stream)
  totals[#totals + 1] = failed
end
return totals
`,
);
