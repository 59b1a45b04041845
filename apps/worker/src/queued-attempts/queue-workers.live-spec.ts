import { bullOptions, DELIVERIES_QUEUE } from '@relay/jobs';
import { oneShard, onlyShard, shardsOn } from '@relay/redis';
import { redisOfSpec } from '@relay/testing';
import { PinoLog, ThrottledLog, type LogFields } from '@relay/telemetry';
import { DelayedError, Queue, Worker, type Job } from 'bullmq';
import { begin, dealt, QueueWorkers } from './queue-workers.adapter.js';

const { redis } = await redisOfSpec({ maxRetriesPerRequest: null });

const LATE_MS = 11_000;
const log = new ThrottledLog(new PinoLog('spec', 'silent'));

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const aJob = {
  v: 1,
  webhookId: 'w1',
  partnerId: 'p1',
  envelopeId: 'e1',
  eventType: 'task.created',
  hash: 'aaaaaaaaaaaaaaaa',
  series: 0,
  attempts: 2,
  acceptedAt: 1,
  traceparent: `00-${TRACE}-b7ad6b7169203331-01`,
  body: '{}',
};

/** Something to wait for. */
function aSignal(): { given: Promise<unknown>; give: (value?: unknown) => void } {
  let give = (_value?: unknown): void => undefined;
  const given = new Promise<unknown>((done) => (give = done));
  return { given, give: (value) => give(value) };
}

describe('the queue workers', () => {
  const queue = new Queue(DELIVERIES_QUEUE, bullOptions(onlyShard(redis)));
  afterAll(() => queue.close());
  beforeEach(() => redis.flushdb());

  /** A job that was fetched under the token `mine` so long ago, and the key of its lock. */
  async function fetched(agoMs: number): Promise<{ job: Job<unknown>; lock: string }> {
    await queue.add('task.created', {});
    const worker = new Worker<unknown>(DELIVERIES_QUEUE, null, {
      ...bullOptions(onlyShard(redis)),
      lockDuration: 20_000,
    });
    const job = await worker.getNextJob('mine');
    await worker.close();
    if (job?.id === undefined) throw new Error('no job was fetched');
    job.processedOn = Date.now() - agoMs;
    return { job, lock: `${queue.toKey(job.id)}:lock` };
  }

  it.each([
    ['was fetched just now', 0, 'mine', true],
    ['was fetched long ago and is still ours', LATE_MS, 'mine', true],
    ['was fetched long ago and belongs to no worker', LATE_MS, undefined, false],
    ['was fetched long ago and belongs to another', LATE_MS, 'theirs', false],
  ])('begin a job only while its lock is theirs: one that %s', async (_, agoMs, token, isBegun) => {
    const { job, lock } = await fetched(agoMs);
    if (token === undefined) await redis.del(lock);
    else await redis.set(lock, token, 'PX', 1_000);
    let begun = 0;
    const process = async (): Promise<void> => void (begun += 1);
    const began = begin(process, job, 'mine');
    if (isBegun) await began;
    else await expect(began).rejects.toThrow(DelayedError);
    expect(begun).toBe(isBegun ? 1 : 0);
    if (agoMs > 0 && isBegun) expect(await redis.pttl(lock)).toBeGreaterThan(10_000);
  });

  it.each([
    [5, 1],
    [64, 1],
    [80, 1],
    [80, 3],
  ])('run %i jobs at once when they may, of %i shards', async (concurrency, count) => {
    const shards = shardsOn(redis, count);
    const queues = shards.all.map((shard) => new Queue(DELIVERIES_QUEUE, bullOptions(shard)));
    const jobs = Array.from({ length: 100 }, () => ({ name: 'task.created', data: {} }));
    for (const each of queues) await each.addBulk(jobs);
    let running = 0;
    let most = 0;
    let ended = 0;
    const opened = aSignal();
    const over = aSignal();
    const process = async (): Promise<void> => {
      running += 1;
      most = Math.max(most, running);
      if (running === concurrency) setTimeout(() => opened.give(), 100);
      await opened.given;
      running -= 1;
      ended += 1;
      if (ended === 100 * count) over.give();
    };
    const workers = new QueueWorkers(shards, concurrency, process, () => undefined, log);
    workers.start();
    await over.given;
    await workers.close();
    await Promise.all(queues.map((each) => each.close()));
    expect(most).toBe(concurrency);
  });

  it.each([
    [256, 1, [64, 64, 64, 64]],
    [80, 1, [64, 16]],
    [256, 2, [64, 64, 64, 64]],
    [256, 3, [64, 22, 64, 21, 64, 21]],
    [8, 3, [3, 3, 2]],
    [2, 3, [1, 1, 1]],
  ])('for %i jobs are dealt to %i shards as %j', (concurrency, count, expected) => {
    const { all } = shardsOn(redis, count);
    const found = dealt(all, concurrency);
    expect(found.map(({ jobs }) => jobs)).toEqual(expected);
    expect(found.map(({ shard }) => all.indexOf(shard))).toEqual(
      expected.map((_, index) => Math.floor((index * count) / expected.length)),
    );
  });

  it('tell when a job has left the queue', async () => {
    const told = aSignal();
    const workers = new QueueWorkers(
      oneShard(redis),
      1,
      async () => undefined,
      (data) => told.give(data),
      log,
    );
    workers.start();
    await queue.add('task.created', { n: 1 }, { removeOnComplete: true });
    expect(await told.given).toEqual({ n: 1 });
    await workers.close();
  });

  it.each([
    ['delivery', aJob, { envelopeId: 'e1', webhookId: 'w1', attempt: 3, traceId: TRACE }],
    ['job of another format', { v: 99 }, { jobId: expect.any(String) }],
  ])('say of which %s a step failed', async (_, data, ids) => {
    const said = aSignal();
    const say = (event: string, _text: string, fields?: LogFields): void => said.give([event, fields]);
    const fail = async (): Promise<void> => {
      throw new Error('Redis is away');
    };
    const told = new ThrottledLog({ error: say, warn: say, info: say, debug: say });
    const workers = new QueueWorkers(oneShard(redis), 1, fail, () => undefined, told);
    workers.start();
    await queue.add('task.created', data);
    const fields = expect.objectContaining({ ...ids, reason: 'Redis is away' });
    expect(await said.given).toEqual(['queue.step_failed', fields]);
    await workers.close();
  });
});
