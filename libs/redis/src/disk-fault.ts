const FAULTS = [
  ['aof_last_write_status', 'it cannot append to its file'],
  ['aof_last_bgrewrite_status', 'the last rewrite of its file failed'],
  ['rdb_last_bgsave_status', 'its last snapshot failed'],
] as const;

/** Behind the start of Redis in which a rewrite was asked for and has not ended well since. */
export const ASKED = ' asked';

/** The field of an answer to INFO. */
export const fieldIn = (info: string, name: string): string => new RegExp(`^${name}:(\\S*)`, 'm').exec(info)?.[1] ?? '';

/**
 * Why a Redis may have no space left on its disk.
 * @param info its answer to INFO
 * @param mark what was stored of the last rewrite
 */
export function diskFaultIn(info: string, mark = ''): string | undefined {
  const failed = FAULTS.find(([name]) => fieldIn(info, name) === 'err');
  if (failed !== undefined) return failed[1];
  const isOfEarlier = mark.endsWith(ASKED) && !mark.startsWith(fieldIn(info, 'run_id'));
  return isOfEarlier && !hasRewritten(info) ? 'it ended while it rewrote its file' : undefined;
}

/** Whether a rewrite has ended well since Redis started, and none is running. */
export const hasRewritten = (info: string): boolean =>
  !isRewriting(info) &&
  fieldIn(info, 'aof_last_bgrewrite_status') === 'ok' &&
  Number(fieldIn(info, 'aof_last_rewrite_time_sec') || -1) >= 0;

export const isRewriting = (info: string): boolean =>
  ['aof_rewrite_in_progress', 'aof_rewrite_scheduled'].some((name) => fieldIn(info, name) === '1');
