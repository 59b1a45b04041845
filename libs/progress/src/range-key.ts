/**
 * A range key says for whom a range of the log waits: a parked webhook, by its id, or a replay of one, as `<webhook id>/<series>`.
 * The series tells its deliveries from all others of the same envelopes; 0 is the webhook's own, of what comes. Before that of a
 * replay of dead letters only stands `failed:`: to a worker of a version that knows none of these it is of no webhook, and left out.
 */
export function readRangeKey(key: string): RangeKey {
  const isOfFailed = key.startsWith(ONLY_FAILED);
  const [webhookId = '', series = '0'] = (isOfFailed ? key.slice(ONLY_FAILED.length) : key).split('/');
  return { webhookId, series: Number(series), isOfFailed };
}

export interface RangeKey {
  readonly webhookId: string;
  readonly series: number;
  readonly isOfFailed: boolean;
}

const ONLY_FAILED = 'failed:';

/** What the key of a replay begins with. */
export const rangeKeyMark = (status: 'all' | 'failed'): string => (status === 'failed' ? ONLY_FAILED : '');

export const isReplay = (key: string): boolean => key.includes('/');
