import { historyEnv, redisEnv } from '@relay/config';
import { connectShards, redisReady, type Shards } from '@relay/redis';
import { InvalidArgumentError, type Command } from 'commander';
import type { Redis } from 'ioredis';
import { withKafka, withRedis } from '../connections.adapter.js';
import { assertClaimed } from '../registry.adapter.js';
import { answer, documented, settingsOf, table, type Shell } from '../shell.js';
import { disputedLog } from './partitions.adapter.js';
import { reshard, type ReshardReport } from './reshard.adapter.js';
import { assertStopped, assertWhole } from './stopped.adapter.js';

const MOST_SHARDS = 64;

export function defineReshard(command: Command, shell: Shell): void {
  command
    .requiredOption('--shards <number>', `number of shards from now on, 1 to ${MOST_SHARDS}`, shardsIn)
    .action(async (options: { shards: number; json?: boolean }) => {
      const { shards: wanted } = options;
      const startedAt = performance.now();
      const report = await change(shell, wanted, options.json === true);
      const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
      if (report === undefined) answer(shell, options, { shards: wanted }, `There are ${wanted} shards: nothing to do`);
      else answer(shell, options, { ...report, seconds }, textOf(report, seconds));
    });
  documented(command, 'reshard --shards 3');
}

function change(shell: Shell, wanted: number, isQuiet: boolean): Promise<ReshardReport | undefined> {
  const { HISTORY_WINDOW: historyWindowMs } = settingsOf(shell, historyEnv);
  const work = (redis: Redis): Promise<ReshardReport | undefined> =>
    withKafka(shell, async (kafka, settings) => {
      await assertClaimed(redis, kafka, settings);
      return withLayouts(shell, redis, (shardsOf) =>
        reshard(
          {
            redis,
            shardsOf,
            historyWindowMs,
            readDisputed: disputedLog(kafka, settings),
            assertStopped: (shards) => assertStopped(shards, kafka, settings),
            assertWhole: (shards) => assertWhole(shards, kafka, settings),
            note: (text) => (isQuiet ? undefined : shell.note(text)),
          },
          wanted,
        ),
      );
    });
  return withRedis(shell, work, 'any number of shards');
}

/** Runs `work` with a way to connect to layouts of shards, whatever `REDIS_SHARDS` is. */
async function withLayouts<T>(
  shell: Shell,
  redis: Redis,
  work: (shardsOf: (count: number) => Promise<Shards>) => Promise<T>,
): Promise<T> {
  const settings = settingsOf(shell, redisEnv);
  const opened: Shards[] = [];
  try {
    return await work(async (count) => {
      const shards = connectShards({ ...settings, REDIS_SHARDS: count }, 'command', () => undefined, redis);
      opened.push(shards);
      await Promise.all(shards.connections.map((connection) => redisReady(connection, () => undefined)));
      return shards;
    });
  } finally {
    for (const shards of opened) for (const connection of shards.connections) connection.disconnect();
  }
}

function shardsIn(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > MOST_SHARDS)
    throw new InvalidArgumentError(`It is a whole number from 1 to ${MOST_SHARDS}.`);
  return count;
}

function textOf({ from, to, before, after, deleted }: ReshardReport, seconds: number): string {
  const kinds = Object.keys(before).filter((kind) => before[kind] !== 0);
  return [
    table([['', 'before', 'after'], ...kinds.map((kind) => [kind, String(before[kind]), String(after[kind])])]),
    `${from} → ${to} shards in ${seconds} s; ${deleted} old keys deleted.`,
    `Start all roles with REDIS_SHARDS=${to}.`,
  ].join('\n');
}
