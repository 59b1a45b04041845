import { globalKey } from './keys.js';

/** Sorted set of lines `<time of the fact> <notice as JSON>`, by the time from which on any worker tells them. Times are epoch milliseconds. */
export const NOTICE_LINES = globalKey('notices');
/** Sorted set of the lines that a process tells now, by the time from which on another one may. */
export const NOTICE_CLAIMS = globalKey('notices', 'claims');
/** How many lines were dropped since that was last logged. */
export const NOTICES_DROPPED = globalKey('notices', 'dropped');

/** Bounds of the lines; `graceMs` is for the process that made the change to tell it, before a worker does. */
export const NOTICES = { most: 1_000, graceMs: 5_000, oldestMs: 86_400_000 } as const;

/**
 * Lua for the head of a script that stores what a notice is about: `keep_notice(line, grace)` stores the line that is told when the
 * process is killed. A fault of it never fails the script. A fact older than a day leaves no line: Redis was emptied, and the script
 * sees again what it saw long ago. Beyond the bound the oldest line goes.
 */
export const noticeLinesLua = `
local function keep_notice(line, grace)
  pcall(function()
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    if tonumber(string.match(line, '^%d+')) < now - ${NOTICES.oldestMs} then return end
    redis.call('ZADD', '${NOTICE_LINES}', 'NX', now + grace, line)
    local extra = redis.call('ZCARD', '${NOTICE_LINES}') - ${NOTICES.most}
    if extra <= 0 then return end
    redis.call('ZREMRANGEBYRANK', '${NOTICE_LINES}', 0, extra - 1)
    redis.call('INCRBY', '${NOTICES_DROPPED}', extra)
  end)
end
`;
