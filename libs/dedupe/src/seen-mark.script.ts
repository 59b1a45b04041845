/**
 * Lua functions over the seen marks, put before every script that reads or writes them (ingress and worker).
 *
 * Layout: one small hash per day and per first two bytes of the id, `<base>:<day>:<4 hex>`, field = the 16 raw bytes
 * of the id, value = state byte and 8 bytes of content hash. Small hashes are stored as listpacks by Redis, which is
 * what keeps an id at about 32 bytes. The day comes from Redis' own clock, so the hosts' clocks do not matter; the
 * next day is looked up too, in case that clock was set back. A mark found on an earlier day is advanced where it
 * stands, so a later day's bucket never hides it: an id has one mark, and today's bucket, where most are, comes first.
 * A script looks up one window only; its keys begin with texts made once, since making each anew took a third of its time.
 */
export const seenMarkLua = `
local function seen_day()
  return math.floor(tonumber(redis.call('TIME')[1]) / 86400)
end
local seen_days
local function seen_find(base, today, days, id)
  if not seen_days then
    seen_days = { base .. ':' .. today .. ':' }
    for day = today - 1, today - days, -1 do seen_days[#seen_days + 1] = base .. ':' .. day .. ':' end
    seen_days[#seen_days + 1] = base .. ':' .. (today + 1) .. ':'
  end
  local bucket = string.format('%02x%02x', string.byte(id, 1, 2))
  for i = 1, #seen_days do
    local key = seen_days[i] .. bucket
    local mark = redis.call('HGET', key, id)
    if mark then return mark, key end
  end
  return false, seen_days[1] .. bucket
end
local function seen_write(key, id, mark, days)
  local isNew = redis.call('HSET', key, id, mark) == 1
  if isNew and redis.call('TTL', key) < 0 then redis.call('EXPIRE', key, (days + 2) * 86400) end
end
`;
