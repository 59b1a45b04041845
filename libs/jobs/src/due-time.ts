/**
 * When a delayed job is due, in epoch milliseconds, from its score in BullMQ's sorted set: the time multiplied by 4096, plus a
 * counter (BullMQ's getDelayedScore.lua).
 */
export const dueTimeOf = (score: string): number => Math.floor(Number(score) / 0x1000);
