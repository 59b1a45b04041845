/**
 * Lua functions over the seen marks, put before every script that reads or writes them (ingress and worker).
 *
 * An id costs little only in a small hash that is well filled. Up to 128 fields, Redis keeps a hash as a listpack of 29 bytes an
 * id, and the ids share the rest of the hash (its key, its expiry). How many hashes are well filled depends on how many ids come,
 * so marks are written in generations:
 *
 * - `<base>:<number>:<bucket>` is a bucket of a generation: field = the 16 raw bytes of an id, value = state byte and 8 bytes of
 *   content hash. A generation has 2^bits buckets; the id's own bytes, folded, choose one.
 * - `<base>` is a small hash: `generations`, newest first, as `<number>:<bits>:<expires at>`, and for the newest one the time at
 *   which it was opened (`openedAt`) and its number of ids (`count`).
 * - A writer opens the next generation when the newest is a day old, or holds `FULL` ids a bucket on average. The new size fits
 *   the ids of a day at the last generation's rate, with at most four times as many buckets: a burst must not fix a size.
 * - A generation and all its buckets expire together: a day of writing, the window and `MARGIN` after it was opened. Therefore an
 *   id is remembered at least for the window, and at most for `MARGIN` and a day longer.
 *
 * A mark found in an older generation is advanced in place, so a later one never hides it. Only Redis' own clock is read, so the
 * clocks of the hosts do not matter. If it is set forward by less than `MARGIN`, no window is shortened; if it is set back,
 * windows only get longer.
 */
export const seenMarkLua = `
local DAY, MARGIN, FIRST_BITS, FULL, AIM = 86400, 18000, 8, 72, 48
local seen_prefixes, seen_masks, seen_expires, seen_new = {}, {}, 0, 0
local function seen_read(base)
  local now = tonumber(redis.call('TIME')[1])
  local known = redis.call('HMGET', base, 'generations', 'openedAt', 'count')
  local newest = { number = 0, bits = FIRST_BITS, age = DAY, count = 0 }
  local live = {}
  for number, bits, expires in string.gmatch(known[1] or '', '(%d+):(%d+):(%d+)') do
    if newest.number == 0 then
      newest = { number = number, bits = tonumber(bits), age = now - known[2], count = tonumber(known[3]) }
      seen_expires = tonumber(expires)
    end
    if tonumber(expires) > now then
      live[#live + 1] = number .. ':' .. bits .. ':' .. expires
      seen_prefixes[#live] = base .. ':' .. number .. ':'
      seen_masks[#live] = 2 ^ bits - 1
    end
  end
  return now, newest, live
end
local function seen_open(base, window)
  local now, newest, live = seen_read(base)
  if newest.age < DAY and newest.count < FULL * 2 ^ newest.bits then return end
  local daily = newest.count * DAY / math.min(DAY, math.max(1, newest.age))
  local wanted = math.ceil(math.log(math.max(1, daily / AIM)) / math.log(2))
  local bits = math.max(FIRST_BITS, math.min(newest.bits + 2, wanted))
  local number = string.format('%d', newest.number + 1)
  seen_expires = now + DAY + window + MARGIN
  table.insert(live, 1, string.format('%s:%d:%d', number, bits, seen_expires))
  redis.call('HSET', base, 'generations', table.concat(live, ' '), 'openedAt', now, 'count', 0)
  table.insert(seen_prefixes, 1, base .. ':' .. number .. ':')
  table.insert(seen_masks, 1, 2 ^ bits - 1)
end
local function seen_find(id)
  local a, b, c, d = struct.unpack('>I4I4I4I4', id)
  local folded = bit.bxor(a, b, c, d)
  folded = bit.bxor(folded, bit.rshift(folded, 16))
  for i = 1, #seen_prefixes do
    local key = seen_prefixes[i] .. bit.band(folded, seen_masks[i])
    local mark = redis.call('HGET', key, id)
    if mark then return mark, key end
  end
  return false, seen_prefixes[1] and seen_prefixes[1] .. bit.band(folded, seen_masks[1])
end
local function seen_write(key, id, mark)
  if redis.call('HSET', key, id, mark) == 0 then return end
  seen_new = seen_new + 1
  if redis.call('HLEN', key) == 1 then redis.call('EXPIREAT', key, seen_expires) end
end
local function seen_close(base)
  if seen_new > 0 then redis.call('HINCRBY', base, 'count', seen_new) end
end
`;
