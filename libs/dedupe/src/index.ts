// Owns what is remembered of envelope ids: the seen mark, its layout in Redis and what the ingress asks of it.
// Guarantees a window of DEDUPE_WINDOW (whole days, up to one day more) and that a mark is never replaced by a lesser
// one. Leaves to `progress` the marks that decide about deliveries (reserved, settled): they are written together with
// the high water of a partition, by scripts that start with `seenMarkLua`.
export { RedisSeenStore } from './redis-seen-store.adapter.js';
export { daysOf, hashBytes, idBytes, readMark, type SeenEntry, type SeenMark, type SeenState } from './seen-mark.js';
export { seenMarkLua } from './seen-mark.script.js';
export { SeenStore } from './seen-store.port.js';
