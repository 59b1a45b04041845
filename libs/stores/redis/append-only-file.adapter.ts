import type { Shard } from './shards.js';

const FAULTS = [
  ['aof_last_write_status', 'it cannot append to its file'],
  ['aof_last_bgrewrite_status', 'the last rewrite of its file failed'],
  ['rdb_last_bgsave_status', 'its last snapshot failed'],
] as const;

/** Behind the start of Redis in which a rewrite was asked for and has not ended well since. */
const ASKED = ' asked';

const fieldIn = (info: string, name: string): string => new RegExp(`^${name}:(\\S*)`, 'm').exec(info)?.[1] ?? '';

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
const hasRewritten = (info: string): boolean =>
  !isRewriting(info) &&
  fieldIn(info, 'aof_last_bgrewrite_status') === 'ok' &&
  Number(fieldIn(info, 'aof_last_rewrite_time_sec') || -1) >= 0;

const isRewriting = (info: string): boolean =>
  ['aof_rewrite_in_progress', 'aof_rewrite_scheduled'].some((name) => fieldIn(info, name) === '1');

/** Time without a failed write, in ms, before a rewrite takes more space on the disk. */
const WELL_MS = 120_000;

/** Record of the last rewrite: the start of Redis (its `run_id`) that it belongs to. */
const markKey = (shard: Shard): string => shard.key('rewritten');

export interface DiskState {
  /** Its start. */
  readonly run: string;
  readonly uptimeS: number;
  readonly fault: string | undefined;
  /** Nothing is left to do for this start: the file was rewritten, or there is none. */
  readonly isRewritten: boolean;
}

/** @throws when Redis is away */
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
 * Has a Redis rewrite its append-only file once after each of its starts.
 *
 * A crash of the machine can tear that file inside a transaction, which every script of several writes is. Redis leaves
 * the torn transaction out when it starts, but servers without valkey-io/valkey#4342 leave its beginning in the file: at
 * the next start it is taken together with whatever was written behind it, so jobs would stand in two lists or in none.
 * A rewritten file is free of it.
 *
 * A rewrite needs space for a second copy of the data. Without that space it ends a Redis that has just come back, so it waits
 * until writes have gone well, and is not asked for again when Redis ended meanwhile.
 */
export class AppendOnlyFile {
  #run: string | undefined;
  #wellSince = 0;

  constructor(private readonly shard: Shard) {}

  /**
   * Looks, and asks for the rewrite when it is time.
   * @param nowMs on a clock that only goes forward
   * @throws when Redis is away or refuses
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
    // Before: a Redis that ends because of it does not forget that it was asked.
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
