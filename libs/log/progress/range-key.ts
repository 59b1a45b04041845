/**
 * Reads a range key: the id of a parked webhook, or `<webhook id>/<series>` of a replay. The series distinguishes the replay's
 * deliveries from all others of the same envelopes. A key that begins with `failed:` belongs to a replay of dead letters only.
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
