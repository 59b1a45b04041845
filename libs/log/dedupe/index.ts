// Owns the seen marks of envelope ids: their states, their layout in Redis and the look-ups of the ingress; and the counts of
// repeats, for some 130,000 ids a day.
// Guarantees a window of DEDUPE_WINDOW (up to 29 h more), about 37 bytes of Redis per id, and that the state of a mark only
// advances.
// Leaves the marks that decide about deliveries (settled) to `progress`: its scripts start with `seenMarkLua` and write the marks
// together with the high water of a partition.
export { RedisRepeatCounts, RepeatCounter, type RepeatCount } from './redis-repeat-counts.adapter.js';
export { packed, RedisSeenStore, SeenStore, wholeSeconds } from './redis-seen-store.adapter.js';
export type { SeenEntry, SeenMark, SeenState } from './redis-seen-store.adapter.js';
export { seenMarkLua } from './seen-mark.script.js';
