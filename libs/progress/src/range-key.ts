/**
 * A range key names the owner of a range: a parked webhook by its id, or a replay as `<webhook id>/<replay number>`. The replay
 * number distinguishes its deliveries from all others of the same envelopes. The key of a replay of dead letters only begins
 * with `failed:`: a worker of a version without these replays finds no such webhook and leaves the range alone.
 */
export function readRangeKey(key: string): RangeKey {
  const isOfFailed = key.startsWith(ONLY_FAILED);
  const [webhookId = '', replayNumber = '0'] = (isOfFailed ? key.slice(ONLY_FAILED.length) : key).split('/');
  return { webhookId, replayNumber: Number(replayNumber), isOfFailed };
}

export interface RangeKey {
  readonly webhookId: string;
  /** 0 for a parked webhook. */
  readonly replayNumber: number;
  readonly isOfFailed: boolean;
}

const ONLY_FAILED = 'failed:';

/** Prefix of the range key of a replay. */
export const rangeKeyMark = (status: 'all' | 'failed'): string => (status === 'failed' ? ONLY_FAILED : '');

export const isReplay = (key: string): boolean => key.includes('/');
