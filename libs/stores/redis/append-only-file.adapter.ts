import type { Shard } from './shards.js';

const FAULTS = [
  ['aof_last_write_status', 'it cannot append to its file'],
  ['aof_last_bgrewrite_status', 'the last rewrite of its file failed'],
  ['rdb_last_bgsave_status', 'its last snapshot failed'],
] as const;

/** End of a mark, after the `run_id` of Redis: in that run a rewrite was requested, and it has not succeeded yet. */
const ASKED = ' asked';

const fieldIn = (info: string, name: string): string => new RegExp(`^${name}:(\\S*)`, 'm').exec(info)?.[1] ?? '';

/**
 * Returns why a Redis may have no space left on its disk; undefined if it shows no sign of that.
 * @param info its answer to INFO
 * @param mark the stored mark about the last rewrite
 */
export function diskFaultIn(info: string, mark = ''): string | undefined {
  const failed = FAULTS.find(([name]) => fieldIn(info, name) === 'err');
  if (failed !== undefined) return failed[1];
  const isOfEarlier = mark.endsWith(ASKED) && !mark.startsWith(fieldIn(info, 'run_id'));
  return isOfEarlier && !hasRewritten(info) ? 'it ended while it rewrote its file' : undefined;
}

/** Whether a rewrite has succeeded since Redis started, and none is running. */
const hasRewritten = (info: string): boolean =>
  !isRewriting(info) &&
  fieldIn(info, 'aof_last_bgrewrite_status') === 'ok' &&
  Number(fieldIn(info, 'aof_last_rewrite_time_sec') || -1) >= 0;

const isRewriting = (info: string): boolean =>
  ['aof_rewrite_in_progress', 'aof_rewrite_scheduled'].some((name) => fieldIn(info, name) === '1');

/** Time without a failed write, in ms, after which a rewrite may be requested. A rewrite needs more space on the disk. */
const WELL_MS = 120_000;

/** Key of the mark about the last rewrite: the `run_id` of the Redis that was rewritten, or `run_id` and `ASKED`. */
const markKey = (shard: Shard): string => shard.key('rewritten');

export interface DiskState {
  /** The `run_id` of Redis, which is another after each start. */
  readonly run: string;
  readonly uptimeS: number;
  readonly fault: string | undefined;
  /** Whether nothing is left to do in this run, because the file was rewritten or there is no file. */
  readonly isRewritten: boolean;
}

/** Reads the state of a Redis and its disk. @throws Error if Redis cannot be reached */
export async function readDisk(shard: Shard): Promise<DiskState> {
  const { info, mark } = await read(shard);
  return stateOf(info, mark);
}

function stateOf(info: string, mark: string): DiskState {
  const run = fieldIn(info, 'run_id');
  return {
    run,
    uptimeS: Number(fieldIn(info, 'uptime_in_seconds')),
    fault: diskFaultIn(info, mark),
    isRewritten: fieldIn(info, 'aof_enabled') !== '1' || hasRewritten(info) || (mark === run && !isRewriting(info)),
  };
}

async function read(shard: Shard): Promise<{ info: string; mark: string }> {
  const [info, mark] = await Promise.all([shard.redis.info(), shard.redis.get(markKey(shard))]);
  return { info, mark: mark ?? '' };
}

/**
 * Makes a Redis rewrite its append-only file once after each of its starts.
 *
 * If the machine crashes, the file may end inside a transaction; every script with several writes is a transaction. Redis
 * ignores the incomplete transaction when it starts, but servers without valkey-io/valkey#4342 leave its beginning in the
 * file. At the next start, Redis reads this beginning together with what was written after it. Then a job may be in two
 * lists or in none. A rewritten file does not contain this beginning.
 *
 * A rewrite needs space for a second copy of the data, and Redis ends if it runs out of space. Therefore a rewrite is
 * requested only after a time without failed writes, and it is not requested again if Redis ended during a rewrite.
 */
export class AppendOnlyFile {
  #run: string | undefined;
  #wellSince = 0;

  constructor(private readonly shard: Shard) {}

  /**
   * Reads the state of Redis, and requests a rewrite when it is time.
   * @param nowMs time of a clock that only goes forward
   * @throws Error if Redis cannot be reached or refuses the rewrite
   */
  async look(nowMs: number): Promise<DiskState> {
    const { info, mark } = await read(this.shard);
    const state = stateOf(info, mark);
    if (state.run !== this.#run || state.fault !== undefined) this.#wellSince = nowMs;
    this.#run = state.run;
    if (state.isRewritten && mark.endsWith(ASKED)) await this.#mark(state.run);
    const isWell = state.fault === undefined && nowMs - this.#wellSince >= WELL_MS;
    if (!state.isRewritten && !isRewriting(info) && isWell) await this.#rewrite(state.run);
    return state;
  }

  async #rewrite(run: string): Promise<void> {
    // The mark is written first. So if Redis ends because of the rewrite, the mark still shows that the rewrite was
    // requested.
    await this.#mark(run + ASKED);
    try {
      await this.shard.redis.bgrewriteaof();
    } catch (error) {
      if (!(error instanceof Error && /in progress/.test(error.message))) throw error;
    }
  }

  async #mark(text: string): Promise<void> {
    await this.shard.redis.set(markKey(this.shard), text);
  }
}
