/**
 * Lua functions that read and write seen marks. They are prepended to every script of the ingress and the worker that uses
 * marks.
 *
 * Memory is the reason for this layout. Redis stores a hash of up to 128 fields as a listpack, in which an id takes about 29
 * bytes. Each hash also has a fixed cost for its key and its expiry. The cost for each id is therefore low only if each hash
 * contains many ids. The right number of hashes depends on how many ids arrive, so the marks are written in generations:
 *
 * - `<base>:<number>:<bucket>` is one bucket of a generation: a hash from the 16 raw bytes of an id to its state byte
 *   followed by 8 bytes of content hash. A generation has 2^bits buckets. The bucket of an id is computed from the bytes of
 *   the id.
 * - `<base>` is a small hash that describes the generations. Its field `generations` lists them, newest first, as
 *   `<number>:<bits>:<expires at>`. For the newest generation it also has the time at which the generation was opened
 *   (`openedAt`) and its number of ids (`count`).
 * - A writer opens a new generation if the newest one is a day old, or if its buckets contain `FULL` ids on average. The
 *   size of the new generation is chosen for the ids of one day at the rate of the previous generation. It has at most four
 *   times as many buckets as the previous one, so that a short burst does not cause a far too large generation.
 * - All buckets of a generation expire at the same time: one day, the window and `MARGIN` after the generation was opened.
 *   An id is therefore remembered for at least the window, and for at most one day and `MARGIN` longer.
 *
 * If a mark exists in an older generation, it is updated there, so an id never has marks in two generations. The scripts
 * only use Redis' clock, so the clocks of the hosts do not matter. If Redis' clock is set forward by less than `MARGIN`, ids
 * are still remembered for the whole window. If it is set back, they are remembered longer.
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
