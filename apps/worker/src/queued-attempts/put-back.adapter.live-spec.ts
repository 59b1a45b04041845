import { bullOptions, DELIVERIES_QUEUE, readQueues } from '@relay/jobs';
import { oneShard, onlyShard } from '@relay/redis';
import { redisOfSpec } from '@relay/testing';
import { DelayedError, Queue, Worker, type Job } from 'bullmq';
import { putBack } from './attempt.processor.js';

const { redis } = await redisOfSpec({ maxRetriesPerRequest: null });

describe('a job that is put back', () => {
  const queue = new Queue(DELIVERIES_QUEUE, bullOptions(onlyShard(redis)));
  const worker = new Worker(DELIVERIES_QUEUE, null, { ...bullOptions(onlyShard(redis)), autorun: false });
  afterAll(() => Promise.all([queue.close(), worker.close()]));

  const taken = async (id: string, token: string): Promise<Job> => {
    await queue.add('task.created', { attempts: 0 }, { jobId: id });
    const job = await worker.getNextJob(token);
    if (job?.id !== id) throw new Error('the job was not taken');
    return job;
  };
  const stored = async (id: string): Promise<unknown[]> => {
    const job = await queue.getJob(id);
    return [await job?.getState(), job?.data, job?.attemptsMade];
  };

  it('has its new data and its time', async () => {
    const at = Date.now() + 60_000;
    await expect(putBack(await taken('one', 't1'), 't1', at, { attempts: 1 })).rejects.toThrow(DelayedError);
    expect(await stored('one')).toEqual(['delayed', { attempts: 1 }, 0]);
    const score = Number(await redis.zscore('{relay:0}:deliveries:delayed', 'one'));
    expect(Math.abs(Math.floor(score / 4_096) - at)).toBeLessThan(1_000);
  });

  it('keeps its data when none is given', async () => {
    await expect(putBack(await taken('two', 't1'), 't1', Date.now() + 60_000)).rejects.toThrow(DelayedError);
    expect(await stored('two')).toEqual(['delayed', { attempts: 0 }, 0]);
  });

  it('counts as late from when it was due, not from when it was made; when made due early, from its last attempt', async () => {
    const dueAt = Date.now() + 3_600_000;
    const job = await taken('late', 't1');
    await expect(putBack(job, 't1', dueAt)).rejects.toThrow(DelayedError);
    await (await queue.getJob('late'))?.promote();
    const ageAt = async (now: number) =>
      (await readQueues(oneShard(redis), now)).find(
        ({ queue: name, state }) => name === DELIVERIES_QUEUE && state === 'waiting',
      );
    const begunAt = job.processedOn ?? 0;
    expect(await ageAt(begunAt + 600_000)).toMatchObject({ jobs: 1, oldestS: 600 });
    expect(await ageAt(dueAt + 150_000)).toMatchObject({ jobs: 1, oldestS: 150 });
    await queue.remove('late');
  });

  it('is unchanged when its lock was lost', async () => {
    const job = await taken('three', 't1');
    await redis.set('{relay:0}:deliveries:three:lock', 'of another worker');
    const error = await putBack(job, 't1', Date.now() + 60_000, { attempts: 1 }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(DelayedError);
    expect(await stored('three')).toEqual(['active', { attempts: 0 }, 0]);
  });
});
