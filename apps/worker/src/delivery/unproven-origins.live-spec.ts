import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { originOf, RedisOriginProofs, type Turn, type TurnRequest } from '@relay/breaker';
import { bullOptions, DELIVERIES_QUEUE, UnprovenJobs } from '@relay/jobs';
import { oneShard, onlyShard } from '@relay/redis';
import { ThrottledLog } from '@relay/telemetry';
import { startRedisServer, type RedisServer } from '@relay/testing';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { FREE, UnprovenOrigins, type Admission } from './unproven-origins.js';
import { TrialQueue } from './trial-queue.js';

const MAX_WAIT_MS = 250;

/** The real store behind a line that can be cut. */
class Cuttable extends RedisOriginProofs {
  isAway = false;

  override turn(asked: TurnRequest): Promise<Turn> {
    return this.isAway ? Promise.reject(new Error('away')) : super.turn(asked);
  }

  override prove(origin: string): Promise<void> {
    return this.isAway ? Promise.reject(new Error('away')) : super.prove(origin);
  }
}

describe('origins that have never answered 2xx', () => {
  let server: RedisServer;
  let queue: Queue;
  let queueClient: Redis;
  const opened: { close(): Promise<void> }[] = [];
  let origins = 0;
  let endpoint: string;
  beforeAll(async () => {
    server = await startRedisServer();
    queueClient = new Redis(server.url(), { maxRetriesPerRequest: null });
    queue = new Queue(DELIVERIES_QUEUE, bullOptions(onlyShard(queueClient)));
  });
  afterAll(async () => {
    for (const each of opened) await each.close();
    await queue.close();
    queueClient.disconnect();
    await server.stop();
  });
  beforeEach(() => {
    endpoint = `partner https://${(origins += 1)}.example`;
  });

  /** What one worker has of it. */
  const aWorker = () => {
    const client = new Redis(server.url(), { enableOfflineQueue: false, maxRetriesPerRequest: 0, lazyConnect: true });
    client.on('error', () => undefined);
    const jobsClient = new Redis(server.url(), { maxRetriesPerRequest: null });
    const jobs = new UnprovenJobs(oneShard(jobsClient));
    const events: string[] = [];
    const tell = (event: string): void => void events.push(event);
    const log = new ThrottledLog({ debug: tell, info: tell, warn: tell, error: tell });
    const proofs = new Cuttable(client);
    const unproven = new UnprovenOrigins(proofs, jobs, log, { DELIVERY_TIMEOUT: 15_000 });
    opened.push({
      close: async () => {
        unproven.onModuleDestroy();
        await jobs.close();
        client.disconnect();
        jobsClient.disconnect();
      },
    });
    return { client, proofs, jobs, unproven, events };
  };
  const connected = async () => {
    const worker = aWorker();
    await worker.client.connect();
    return worker;
  };
  /** A worker that lets deliveries wait in memory; each attempt takes `takesMs` and ends so. */
  const trying = async (ends: () => 'delivered' | 'failed', takesMs: number, seen = { running: 0, most: 0 }) => {
    const { unproven, ...worker } = await connected();
    const [ran, offered, stored]: [number[], number[], number[]] = [[], [], []];
    const trials = new TrialQueue<number>(
      unproven,
      {
        run: async (item, turn) => {
          ran.push(item);
          seen.most = Math.max(seen.most, (seen.running += 1));
          await delay(takesMs);
          seen.running -= 1;
          await unproven.ended(endpoint, turn, ends());
        },
        offer: (item) => void offered.push(item),
        store: (_, at) => void stored.push(at),
      },
      MAX_WAIT_MS,
    );
    unproven.onProof((origin) => trials.release(origin));
    return { ...worker, unproven, trials, ran, offered, stored };
  };
  const ended = async (trials: TrialQueue<number>): Promise<void> => {
    while (trials.waiting > 0) await delay(5);
  };

  it('get one of a thousand deliveries and, in order, the others as soon as that is answered 2xx', async () => {
    const { trials, ran, offered, stored, unproven } = await trying(() => 'delivered', 2);
    for (let n = 0; n < 1_000; n += 1) trials.add(n, endpoint);
    await ended(trials);
    expect([ran, stored]).toEqual([[0], []]);
    expect(offered).toEqual(Array.from({ length: 999 }, (_, n) => n + 1));
    expect(unproven.isProven(endpoint)).toBe(true);
    expect(unproven.isProven(`another ${originOf(endpoint)}`)).toBe(true);
  });

  it('get the waiting deliveries of other partners too once they are proven', async () => {
    const { trials, offered } = await trying(() => 'delivered', 20);
    trials.add(0, endpoint);
    for (let n = 1; n < 4; n += 1) trials.add(n, `partner-${n} ${originOf(endpoint)}`);
    await ended(trials);
    expect(offered.toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
  });

  it('have deliveries that wait longer than a quarter of a second become jobs, due one a second', async () => {
    const { trials, ran, offered, stored } = await trying(() => 'failed', 2);
    const before = Date.now();
    for (let n = 0; n < 101; n += 1) trials.add(n, endpoint);
    await ended(trials);
    expect([ran, offered]).toEqual([[0], []]);
    expect(stored).toHaveLength(100);
    for (const [n, at] of stored.entries()) expect(at).toBeGreaterThanOrEqual(before + 1_000 * Math.max(1, n));
    expect(Math.max(...stored)).toBeLessThan(Date.now() + 103_000);
  });

  it('never get two attempts at once from two workers, nor more than one a second', async () => {
    const seen = { running: 0, most: 0 };
    const workers = [await trying(() => 'failed', 30, seen), await trying(() => 'failed', 30, seen)];
    const from = performance.now();
    while (performance.now() - from < 3_500) {
      for (const { trials } of workers) for (let n = 0; n < 5; n += 1) trials.add(n, endpoint);
      await delay(100);
    }
    const tried = workers.reduce((sum, { ran }) => sum + ran.length, 0);
    for (const { trials } of workers) await ended(trials);
    expect(seen.most).toBe(1);
    expect(tried).toBeGreaterThanOrEqual(2);
    expect(tried).toBeLessThanOrEqual((performance.now() - from) / 1_000 + 1);
  });

  it('get nothing while the store is away, unless they are known to have answered', async () => {
    const { unproven, proofs, events } = await connected();
    await unproven.ended(endpoint, FREE, 'delivered');
    proofs.isAway = true;
    expect(await unproven.enter(endpoint)).toBe(FREE);
    for (let n = 0; n < 1_000; n += 1) await unproven.ended(endpoint, FREE, 'delivered');
    expect(events).toEqual(['origin.proven']);
    expect(await unproven.enter('partner https://unknown.example')).toMatchObject({ kind: 'wait' });
    expect(events).toEqual(['origin.proven', 'origins.away']);
    // What could not be told is told with the next 2xx.
    await unproven.ended('partner https://unknown.example', FREE, 'delivered');
    proofs.isAway = false;
    await unproven.ended('partner https://unknown.example', FREE, 'delivered');
    const { unproven: other } = await connected();
    expect(await other.enter('partner https://unknown.example')).toEqual(FREE);
  });

  it('have their jobs released when another process has seen them answer, and no others', async () => {
    const { unproven } = await connected();
    const [one, other] = [`one-${origins}`, `other-${origins}`];
    for (const jobId of [one, other]) await queue.add('x', {}, { jobId, delay: 300_000 });
    await unproven.hold(endpoint, one, Date.now() + 300_000);
    await unproven.hold('partner https://silent.example', other, Date.now() + 300_000);
    await unproven.look();
    const due = async (id: string): Promise<number> => (await queue.getJob(id))?.delay ?? -1;
    expect(await due(one)).toBe(300_000);
    const { client } = await connected();
    await new RedisOriginProofs(client).prove(originOf(endpoint));
    await unproven.look();
    expect([(await due(one)) < 1_000, await due(other), unproven.isProven(endpoint)]).toEqual([true, 300_000, true]);
    expect(await client.smembers('{relay:0}:unproven:jobs')).toEqual(['https://silent.example']);
  });

  it('do not bring forward a job that has had its turn and waits for its schedule', async () => {
    const { unproven, client } = await connected();
    const id = `scheduled-${origins}`;
    await queue.add('x', {}, { jobId: id, delay: 300_000 });
    await unproven.hold(endpoint, id, Date.now() + 10);
    const turn: Admission = await unproven.enter(endpoint, id);
    expect(turn.kind).toBe('turn');
    await unproven.ended(endpoint, turn, 'failed');
    await new RedisOriginProofs(client).prove(originOf(endpoint));
    await unproven.look();
    expect((await queue.getJob(id))?.delay).toBe(300_000);
  });
});
