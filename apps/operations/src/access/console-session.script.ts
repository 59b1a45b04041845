/**
 * KEYS[1] is `console:<operator>`, a small Redis hash. Each field is the hash of a session id, and its value is
 * `<generation> <ends> <idle end>`, then ` <JSON of the person>` if a person opened the session. The key expires with the
 * session that ends last. Times are epoch milliseconds by the clocks of the callers.
 */
const lua = `
local function read(session)
  local stored = redis.call('HGET', KEYS[1], session) or ''
  local generation, ends, idle, person = string.match(stored, '^(%d+) (%d+) (%d+)(.*)$')
  return generation, tonumber(ends), tonumber(idle), person
end
`;

/**
 * ARGV: now, session, generation, end, idle end, maximum number of sessions, the rest of the value. If there are too many
 * sessions, those that become idle first are deleted.
 */
export const openConsoleLua = `${lua}
local now, live = tonumber(ARGV[1]), {}
for _, session in ipairs(redis.call('HKEYS', KEYS[1])) do
  local _, ends, idle = read(session)
  if idle <= now then redis.call('HDEL', KEYS[1], session) else live[#live + 1] = { session = session, idle = idle } end
end
table.sort(live, function(a, b) return a.idle < b.idle end)
for i = 1, #live + 1 - tonumber(ARGV[6]) do redis.call('HDEL', KEYS[1], live[i].session) end
redis.call('HSET', KEYS[1], ARGV[2], ARGV[3] .. ' ' .. ARGV[4] .. ' ' .. ARGV[5] .. ARGV[7])
redis.call('PEXPIRE', KEYS[1], tonumber(ARGV[4]) - now)
return 1
`;

/**
 * ARGV: now, session, new idle end if the operator acts, otherwise 0. Returns the generation, the idle end and the
 * rest of a live session, otherwise an empty list. A session is written at most once a minute.
 */
export const useConsoleLua = `${lua}
local generation, ends, idle, person = read(ARGV[2])
if not generation or idle <= tonumber(ARGV[1]) then return {} end
local wanted = math.min(ends, tonumber(ARGV[3]))
if wanted >= idle + 60000 then
  idle = wanted
  redis.call('HSET', KEYS[1], ARGV[2], string.format('%s %d %d%s', generation, ends, idle, person))
end
return { generation, tostring(idle), person }
`;
