import { redisKey } from '@relay/redis';

/** With `:<envelope>` the set of its jobs (`w:<id>`) and dead letters (`d:<id>`). */
export const OF_ENVELOPE = redisKey('unsettled');
/** A day longer than a letter is kept: what a crash left behind goes by itself, and who reads leaves out what is gone. */
export const INDEXED_S = 31 * 86_400;
