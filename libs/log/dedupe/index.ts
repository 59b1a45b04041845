// Owns the seen marks, by which the relay recognises envelope ids that it has already accepted: their states, their layout
// in Redis and the look-ups of the ingress. It also owns the counts of repeated envelopes, for some 130,000 ids a day.
// Guarantees that a mark is kept for DEDUPE_WINDOW (and at most 29 h longer), that an id takes about 37 bytes of Redis, and
// that the state of a mark only advances. Leaves the state `settled`, which decides about deliveries, to `progress`: its
// scripts begin with `seenMarkLua` and write the marks together with the progress of a partition.
export { RedisRepeatCounts, RepeatCounter, type RepeatCount } from './redis-repeat-counts.adapter.js';
export { packed, RedisSeenStore, SeenStore, wholeSeconds } from './redis-seen-store.adapter.js';
export type { SeenEntry, SeenMark, SeenState } from './redis-seen-store.adapter.js';
export { seenMarkLua } from './seen-mark.script.js';
