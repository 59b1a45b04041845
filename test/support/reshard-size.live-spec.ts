import { randomUUID } from 'node:crypto';
import { ShardHistory } from '@relay/history';
import { RedisPartitionProgress, type ParkedRange } from '@relay/progress';
import { shardsOn } from '@relay/redis';
import { BullmqRetryQueue } from '@relay/retry';
import { redisOfSpec } from '@relay/testing';
import { reshard } from '../../apps/cli/src/reshard/reshard.command.js';
import { AT, SpecState, WINDOW_MS } from '../../apps/cli/src/reshard/spec-state.js';

const { redis } = await redisOfSpec({ maxRetriesPerRequest: null });
/** 100,000 is measured by hand: docs/operations/recovery.md has the figures. */
const IDS = Number(process.env['RESHARD_IDS'] ?? 4_000);
const [JOBS, LETTERS, PARKED] = [IDS / 20, IDS / 50, IDS / 200];
const SLICE = 1_000;
const HASH = '0123456789abcdef';

async function fill(): Promise<void> {
  const shards = shardsOn(redis, 1);
  const [shard] = shards.all;
  const state = new SpecState();
  const ids = Array.from({ length: IDS }, () => randomUUID());
  const progress = new RedisPartitionProgress(shard!, WINDOW_MS);
  const history = new ShardHistory(shard!, WINDOW_MS);
  for (const at of AT) await progress.own(at, 'worker', { take: true, start: 0 });
  const ranges = (): ReadonlyMap<string, readonly ParkedRange[]> =>
    new Map(Array.from({ length: PARKED }, () => [randomUUID(), [{ from: 1 }]]));
  for (let n = 0; n < IDS / SLICE; n += 1) {
    const slice = ids.slice(n * SLICE, (n + 1) * SLICE);
    const position = { highWater: n, sequence: n + 1 };
    await progress.flush(AT[0]!, {
      token: 'worker',
      confirmed: position,
      next: { highWater: n + 1, sequence: n + 2 },
      settled: slice.map((id) => ({ id, hash: HASH })),
      partial: [],
      whole: [],
      ...(n === 0 ? { parking: { changed: ranges(), replays: new Map(), dropped: [5], keptFrom: 1, next: IDS } } : {}),
    });
    const attempts = [{ at: 10, durationMs: 3, status: 204 }];
    const { webhookId } = state;
    await history.add(slice.map((envelopeId) => ({ webhookId, envelopeId, acceptedAt: 5, series: 0, attempts })));
  }
  for (const at of AT) await progress.release(at, 'worker');
  const queue = new BullmqRetryQueue(shards);
  await Promise.all(
    ids.slice(0, JOBS).map((id, n) => queue.add({ job: state.job(id, n), at: Date.now() + 3_600_000 })),
  );
  const dead = { reason: 'gone' as const, diedAt: Date.now() };
  await Promise.all(
    ids.slice(JOBS, JOBS + LETTERS).map((id, n) => queue.addDeadLetter(Object.assign(state.job(id, n), dead))),
  );
  await queue.close();
}

it('reshard keeps as many of each kind of a state of thousands of ids, with few reads of marks for each look-up', async () => {
  await fill();
  for (const count of [3, 16, 1]) {
    const startedAt = performance.now();
    const report = await reshard(
      {
        redis,
        shardsOf: async (number) => shardsOn(redis, number),
        historyWindowMs: WINDOW_MS,
        readDisputed: () => Promise.reject(new Error('the shards differ')),
        assertStopped: async () => undefined,
        assertWhole: async () => undefined,
        note: () => undefined,
      },
      count,
    );
    const seconds = (performance.now() - startedAt) / 1_000;
    const { heapUsed, rss } = process.memoryUsage();
    const mebibytes = [heapUsed, rss].map((bytes) => Math.round(bytes / 2 ** 20));
    process.stdout.write(
      `to ${count} shards: ${seconds.toFixed(1)} s, heap and memory ${mebibytes.join(' and ')} MiB\n`,
    );
    expect(report?.after).toEqual(report?.before);
    expect(report?.after).toMatchObject({
      'seen ids': IDS,
      'jobs delayed': JOBS,
      'dead letters waiting': LETTERS,
      'history lines': IDS,
      'webhooks parked in a partition': PARKED,
    });
    for (const shard of shardsOn(redis, count).all) {
      const generations = (await redis.hget(shard.key('seen'), 'generations')) ?? '';
      // All were opened within a day.
      expect(generations.split(' ')).toHaveLength(1);
      const [number = '', bits = ''] = generations.split(':');
      const sizes = await Promise.all(
        Array.from({ length: Math.min(200, 2 ** Number(bits)) }, (_, bucket) =>
          redis.hlen(shard.key('seen', number, bucket)),
        ),
      );
      // Up to 128 ids Redis keeps a hash as a listpack, which an id needs to cost little.
      expect(Math.max(...sizes)).toBeLessThanOrEqual(128);
    }
  }
}, 600_000);
