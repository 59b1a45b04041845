import type { Division } from './division.js';
import { copyDividedKeys } from './divided-keys.adapter.js';
import type { ReadDisputed } from './disputed-log.adapter.js';
import { copyEnvelopeKeys } from './envelope-keys.adapter.js';
import { copyFailures } from './failures.adapter.js';
import { copyHistory } from './history.adapter.js';
import type { Move } from './move.js';
import type { Order } from './orders.adapter.js';
import { copyPartitions } from './partitions.adapter.js';
import { copyQueues } from './queues.adapter.js';
import { copySeen } from './seen.adapter.js';

export interface CopyOptions {
  /** `HISTORY_WINDOW` in milliseconds. */
  readonly historyWindowMs: number;
  readonly readDisputed: ReadDisputed;
  /** A line about what was copied. */
  readonly note: (text: string) => void;
}

/** Copies a layout into another one, which is empty. @returns how the ranges of each partition were divided */
export async function copyAll(move: Move, orders: readonly Order[], options: CopyOptions): Promise<Division[]> {
  const divisions: Division[] = [];
  const steps: readonly (readonly [string, () => Promise<unknown>])[] = [
    ['seen ids', () => copySeen(move)],
    ['jobs, dead letters and bodies', () => copyEnvelopeKeys(move)],
    ['queues', () => copyQueues(move)],
    ['lists by webhook', () => copyDividedKeys(move)],
    ['history', () => copyHistory(move, options.historyWindowMs)],
    ['failed attempts', () => copyFailures(move)],
    ['lines of notices', () => copyNotices(move)],
    [
      'progress and parked ranges',
      async () => divisions.push(...(await copyPartitions(move, orders, options.readDisputed))),
    ],
  ];
  for (const [what, copy] of steps) {
    const startedAt = performance.now();
    await copy();
    await move.writes.finish();
    options.note(`${what}: copied in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
  }
  return divisions;
}

/** Lines that no worker has told yet. Those of one shard are global. */
async function copyNotices({ from, to, writes }: Move): Promise<void> {
  const [first] = to.all;
  for (const shard of from.all) {
    if (shard.isGlobal || first === undefined) continue;
    const lines = await shard.redis.zrange(shard.key('notices'), '0', '-1', 'WITHSCORES');
    for (let n = 0; n < lines.length; n += 2)
      writes.add(first, 500, (pipeline) =>
        pipeline.zadd(first.key('notices'), 'NX', lines[n + 1] ?? '0', lines[n] ?? ''),
      );
  }
}
