import { randomUUID } from 'node:crypto';
import { bullOptions, DELIVERIES_QUEUE, type DeliveryJob } from '@relay/jobs';
import { shardsOn } from '@relay/redis';
import { BullmqRetryQueue } from '@relay/retry';
import { idsOfEach, redisOfSpec } from '@relay/testing';
import { Queue } from 'bullmq';
import { fastify } from 'fastify';
import { Board, BOARD_PATH } from './board.adapter.js';

const { redis } = await redisOfSpec({ maxRetriesPerRequest: null });

interface ShownQueue {
  readonly name: string;
  readonly delimiter: string;
  readonly readOnlyMode: boolean;
  readonly isPaused: boolean;
  readonly counts: Readonly<Record<string, number>>;
  readonly jobs: readonly { readonly id: string; readonly delay: number; readonly timestamp: number }[];
}

describe.each([
  [1, ['deliveries', 'dead-letters']],
  [3, [0, 1, 2].flatMap((shard) => [`shard-${shard}.deliveries`, `shard-${shard}.dead-letters`])],
])('the board of %i shards', (count, names) => {
  const shards = shardsOn(redis, count);
  const queue = new BullmqRetryQueue(shards);
  const jobs = idsOfEach(shards, 5).map((envelopeId): DeliveryJob => ({
    v: 1,
    webhookId: randomUUID(),
    partnerId: 'p',
    envelopeId,
    eventType: 'task.created',
    hash: '0123456789abcdef',
    series: 0,
    attempts: 1,
    acceptedAt: 1,
    body: '{}',
  }));
  const dueAt = Date.now() + 3_600_000;
  const board = new Board(shards, { OPERATIONS_WRITE: true });
  const app = fastify();
  beforeAll(async () => {
    await redis.flushall();
    await Promise.all(jobs.map((job) => queue.add({ job, at: dueAt })));
    await app.register(board.plugin, { prefix: BOARD_PATH });
    await board.ready();
  });
  afterAll(async () => {
    await app.close();
    await Promise.all([board.close(), queue.close()]);
  });
  const shown = async (activeQueue = ''): Promise<readonly ShownQueue[]> => {
    const query = `activeQueue=${activeQueue}&status=delayed&page=1&jobsPerPage=100`;
    const answer = await app.inject({ method: 'GET', url: `${BOARD_PATH}/api/queues?${query}` });
    return answer.json<{ queues: ShownQueue[] }>().queues;
  };

  it('has the queues of each by names of their own, and the jobs of each with their due times', async () => {
    const queues = await shown();
    expect(queues.map(({ name }) => name)).toEqual(names);
    expect(queues.map(({ readOnlyMode }) => readOnlyMode)).toEqual(names.map((name) => name.endsWith('dead-letters')));
    for (const [number, shard] of shards.all.entries()) {
      const own = jobs.filter(({ envelopeId }) => shards.of(envelopeId) === shard);
      const name = names[2 * number] ?? '';
      const found = (await shown(name)).find((each) => each.name === name);
      expect([found?.counts['delayed'], found?.jobs.length]).toEqual([5, 5]);
      expect(own.every(({ envelopeId }) => found?.jobs.some(({ id }) => id.includes(envelopeId)))).toBe(true);
      for (const { timestamp, delay } of found?.jobs ?? [])
        expect(Math.abs(timestamp + delay - dueAt)).toBeLessThan(600_000);
    }
  });

  it('pauses the deliveries of one alone', async () => {
    const last = names.at(-2) ?? '';
    const answer = await app.inject({ method: 'PUT', url: `${BOARD_PATH}/api/queues/${last}/pause` });
    expect(answer.statusCode).toBe(200);
    expect((await shown()).filter(({ isPaused }) => isPaused).map(({ name }) => name)).toEqual([last]);
    const paused = shards.all.map(async (shard) => {
      const opened = new Queue(DELIVERIES_QUEUE, bullOptions(shard));
      const isPaused = await opened.isPaused();
      await opened.close();
      return isPaused;
    });
    expect(await Promise.all(paused)).toEqual(shards.all.map((_, number) => number === count - 1));
  });
});
