import { globalKey } from './shards.js';

/**
 * Sorted set of lines `<time of the fact> <notice as JSON>`, by the time from which on any worker tells them. Times are epoch milliseconds.
 * Each shard also has such a set, for the notices of its scripts.
 */
export const NOTICE_LINES = globalKey('notices');

/** Beside a set of lines: a sorted set of those that a process tells now, by the time from which on another one may. */
export const noticeClaimsOf = (lines: string): string => `${lines}:claims`;
/** Beside a set of lines: how many were dropped since that was last logged. */
export const droppedNoticesOf = (lines: string): string => `${lines}:dropped`;

/** Bounds of the lines; `graceMs` is for the process that made the change to tell it, before a worker does. */
export const NOTICES = { most: 1_000, graceMs: 5_000, oldestMs: 86_400_000 } as const;

/**
 * Lua for the head of a script that stores what a notice is about: `keep_notice(lines, line, grace)` stores in a set of lines the
 * line that a worker reports if the process is killed. A fault of it never fails the script. A fact older than a day leaves no
 * line: Redis was emptied, and the script sees an old fact again. Beyond the bound the oldest line goes.
 */
export const noticeLinesLua = `
local function keep_notice(lines, line, grace)
  pcall(function()
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    if tonumber(string.match(line, '^%d+')) < now - ${NOTICES.oldestMs} then return end
    redis.call('ZADD', lines, 'NX', now + grace, line)
    local extra = redis.call('ZCARD', lines) - ${NOTICES.most}
    if extra <= 0 then return end
    redis.call('ZREMRANGEBYRANK', lines, 0, extra - 1)
    redis.call('INCRBY', lines .. ':dropped', extra)
  end)
end
`;
