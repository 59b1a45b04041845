// Owns what is remembered of envelope ids: the seen mark, its layout in Redis and what the ingress asks of it.
// Guarantees a window of DEDUPE_WINDOW (up to 29 h more), about 36 bytes of Redis per id, and that a mark is never
// replaced by a lesser one. Leaves to `progress` the marks that decide about deliveries (reserved, settled): they are written together with
// the high water of a partition, by scripts that start with `seenMarkLua`.
export { RedisSeenStore } from './redis-seen-store.adapter.js';
export {
  hashBytes,
  idBytes,
  readMark,
  wholeSeconds,
  type SeenEntry,
  type SeenMark,
  type SeenState,
} from './seen-mark.js';
export { seenMarkLua } from './seen-mark.script.js';
export { SeenStore } from './seen-store.port.js';
