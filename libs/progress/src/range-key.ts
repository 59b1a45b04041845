/**
 * A range key says for whom a range of the log waits: a parked webhook, by its id, or a replay of one, as `<webhook id>/<series>`.
 * The series tells its deliveries from all others of the same envelopes; 0 is the webhook's own, of what comes.
 */
export function readRangeKey(key: string): { readonly webhookId: string; readonly series: number } {
  const [webhookId = '', series = '0'] = key.split('/');
  return { webhookId, series: Number(series) };
}

export const isReplay = (key: string): boolean => key.includes('/');
