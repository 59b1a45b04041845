/** BullMQ's sorted set of delayed jobs multiplies the time by this and adds a counter (BullMQ's getDelayedScore.lua). */
export const STEPS = 0x1000;

/** When a delayed job is due, in epoch milliseconds, from its score. */
export const dueTimeOf = (score: string): number => Math.floor(Number(score) / STEPS);

/** The lowest score of a job that is due after this time. */
export const scoreOf = (at: number): number => (Math.floor(at) + 1) * STEPS;
