/**
 * A range key names whose range it is: a parked webhook by its id, or a replay as `<webhook id>/<series>`. The series
 * distinguishes its deliveries from all others of the same envelopes. The key of a replay of dead letters only begins with
 * `failed:`.
 */
export function readRangeKey(key: string): RangeKey {
  const isOfFailed = key.startsWith(ONLY_FAILED);
  const [webhookId = '', series = '0'] = (isOfFailed ? key.slice(ONLY_FAILED.length) : key).split('/');
  return { webhookId, series: Number(series), isOfFailed };
}

export interface RangeKey {
  readonly webhookId: string;
  /** 0 for a parked webhook. */
  readonly series: number;
  readonly isOfFailed: boolean;
}

const ONLY_FAILED = 'failed:';

/** Prefix of the range key of a replay. */
export const rangeKeyPrefix = (status: 'all' | 'failed'): string => (status === 'failed' ? ONLY_FAILED : '');

export const isReplay = (key: string): boolean => key.includes('/');
