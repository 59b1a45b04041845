import type { Shard } from '@relay/redis';

/** Of one envelope the set of its jobs (`w:<id>`) and dead letters (`d:<id>`). */
export const ofEnvelopeKey = (shard: Shard, ...envelopeId: readonly string[]): string =>
  shard.key('unsettled', ...envelopeId);
/** A day longer than a dead letter is kept: entries that a crash left behind expire, and readers skip removed dead letters. */
export const INDEXED_S = 31 * 86_400;
