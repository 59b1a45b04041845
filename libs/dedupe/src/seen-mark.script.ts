/**
 * Lua functions over the seen marks, put before every script that reads or writes them (ingress and worker).
 *
 * Layout: one small hash per day and per first two bytes of the id, `<base>:<day>:<4 hex>`, field = the 16 raw bytes
 * of the id, value = state byte and 8 bytes of content hash. Small hashes are stored as listpacks by Redis, which is
 * what keeps an id at about 32 bytes. The day comes from Redis' own clock, so the hosts' clocks do not matter; the
 * next day is looked up too, in case that clock was set back. A mark found on an earlier day is advanced where it
 * stands, so a later day's bucket never hides it.
 */
export const seenMarkLua = `
local function seen_day()
  return math.floor(tonumber(redis.call('TIME')[1]) / 86400)
end
local function seen_key(base, day, id)
  return string.format('%s:%d:%02x%02x', base, day, string.byte(id, 1), string.byte(id, 2))
end
local function seen_find(base, today, days, id)
  for day = today + 1, today - days, -1 do
    local key = seen_key(base, day, id)
    local mark = redis.call('HGET', key, id)
    if mark then return mark, key end
  end
  return false, seen_key(base, today, id)
end
local function seen_write(key, id, mark, days)
  redis.call('HSET', key, id, mark)
  if redis.call('TTL', key) < 0 then redis.call('EXPIRE', key, (days + 2) * 86400) end
end
`;
