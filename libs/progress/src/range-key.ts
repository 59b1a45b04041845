/**
 * A range key says for whom a range of the log waits: a parked webhook, by its id, or a replay of one, as `<webhook id>/<series>`.
 * The series tells its deliveries from all others of the same envelopes; 0 is the webhook's own, of what comes. `/failed` follows
 * the series of a replay that is of dead letters only.
 */
export function readRangeKey(key: string): RangeKey {
  const [webhookId = '', series = '0', of] = key.split('/');
  return { webhookId, series: Number(series), isOfFailed: of === ONLY_FAILED };
}

export interface RangeKey {
  readonly webhookId: string;
  readonly series: number;
  readonly isOfFailed: boolean;
}

const ONLY_FAILED = 'failed';

/** What follows the series in the key of such a replay. */
export const rangeKeyEnd = (status: 'all' | 'failed'): string => (status === 'failed' ? `/${ONLY_FAILED}` : '');

export const isReplay = (key: string): boolean => key.includes('/');
