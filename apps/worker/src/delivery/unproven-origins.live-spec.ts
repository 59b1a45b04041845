import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Asker, originOf, RedisOriginProofs } from '@relay/breaker';
import { bullOptions, DELIVERIES_QUEUE, UnprovenJobs } from '@relay/jobs';
import { oneShard, onlyShard } from '@relay/redis';
import { ThrottledLog } from '@relay/telemetry';
import { startRedisServer, type RedisServer } from '@relay/testing';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { TrialQueue, UnprovenOrigins } from './unproven-origins.js';

const MAX_WAIT_MS = 250;
const of = (endpoint: string, id = 'w'): Asker => ({ endpoint, id });

/** The real store behind a line that can be cut. */
class Cuttable extends RedisOriginProofs {
  isAway = false;

  override proven(origins: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.isAway ? Promise.reject(new Error('away')) : super.proven(origins);
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
    const unproven = new UnprovenOrigins(proofs, jobs, log);
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
  const trying = async (ends: 'delivered' | 'failed', takesMs: number) => {
    const { unproven, ...worker } = await connected();
    const [ran, offered, stored]: [number[], number[], { at: number; hasTurn: boolean }[]] = [[], [], []];
    const run = async (item: number): Promise<void> => {
      ran.push(item);
      await delay(takesMs);
      if (ends === 'delivered') await unproven.delivered(endpoint);
    };
    const trials = new TrialQueue(unproven, MAX_WAIT_MS);
    const add = async (item: number, webhook: Asker): Promise<void> => {
      const turn = await trials.turn(webhook);
      if (turn === 'proven') offered.push(item);
      else if (turn.mayGo) await run(item);
      else stored.push({ at: turn.at, hasTurn: turn.hasTurn });
    };
    unproven.onProof((origin) => trials.release(origin));
    return { ...worker, unproven, trials, add, ran, offered, stored };
  };
  const ended = async (trials: TrialQueue): Promise<void> => {
    while (trials.waiting > 0) await delay(5);
  };

  it('get one of a thousand deliveries and, in order, the others as soon as that is answered 2xx', async () => {
    const { trials, add, ran, offered, stored, unproven } = await trying('delivered', 2);
    for (let n = 0; n < 1_000; n += 1) void add(n, of(endpoint));
    await ended(trials);
    expect([ran, stored]).toEqual([[0], []]);
    expect(offered).toEqual(Array.from({ length: 999 }, (_, n) => n + 1));
    expect(unproven.isProven(endpoint)).toBe(true);
    expect(unproven.isProven(`another ${originOf(endpoint)}`)).toBe(true);
  });

  it('get the waiting deliveries of other partners too once they are proven', async () => {
    const { trials, add, offered, stored } = await trying('delivered', 20);
    void add(0, of(endpoint));
    for (let n = 1; n < 4; n += 1)
      for (const item of [n, n + 10]) void add(item, of(`partner-${n} ${originOf(endpoint)}`));
    await ended(trials);
    // The first of each has its turn as a job.
    expect(stored.map(({ hasTurn }) => hasTurn)).toEqual([true, true, true]);
    expect(offered.toSorted((a, b) => a - b)).toEqual([11, 12, 13]);
  });

  it('have deliveries that wait longer than a quarter of a second become jobs, of which one a second asks again', async () => {
    const { trials, add, ran, offered, stored } = await trying('failed', 2);
    const before = Date.now();
    for (let n = 0; n < 101; n += 1) void add(n, of(endpoint));
    await ended(trials);
    expect([ran, offered]).toEqual([[0], []]);
    expect(stored).toHaveLength(100);
    for (const [n, { at, hasTurn }] of stored.entries()) {
      expect(at).toBeGreaterThanOrEqual(before + 1_000 * Math.max(1, n));
      expect(hasTurn).toBe(false);
    }
    expect(Math.max(...stored.map(({ at }) => at))).toBeLessThan(Date.now() + 103_000);
  });

  it('try a webhook within seconds beside a sibling with a thousand waiting deliveries', async () => {
    const { unproven } = await connected();
    for (let n = 0; n < 1_000; n += 1) await unproven.enter(of(endpoint, 'flooded'));
    expect(unproven.behind(of(endpoint, 'flooded'), MAX_WAIT_MS)).toBeGreaterThan(Date.now() + 60_000);
    expect(unproven.behind(of(endpoint, 'quiet'), MAX_WAIT_MS)).toBeUndefined();
    const entry = await unproven.enter(of(endpoint, 'quiet'));
    expect(entry.mayGo ? 0 : entry.at - Date.now()).toBeLessThanOrEqual(2_000);
  });

  it('try a new partner after one turn of each other, although attempts of those hang', async () => {
    const { unproven } = await connected();
    const ofPartner = (partner: string): Asker => of(`${partner} ${originOf(endpoint)}`);
    const hostile = ['h1', 'h2', 'h3'].map(ofPartner);
    const first = await Promise.all(hostile.map((each) => unproven.enter(each)));
    expect(first.map((entry) => entry.mayGo || entry.hasTurn)).toEqual([true, true, true]);
    // None of these attempts ends. They ask for more, and get none before the new one.
    for (const each of hostile.slice(1)) expect(await unproven.enter(each)).toMatchObject({ hasTurn: false });
    const latest = Math.max(...first.map((entry) => (entry.mayGo ? 0 : entry.at)));
    const entry = await unproven.enter(ofPartner('new'));
    expect(entry).toMatchObject({ mayGo: false, hasTurn: true });
    expect(entry.mayGo ? 0 : entry.at - latest).toBeLessThanOrEqual(1_002);
    // Whichever worker takes the job when it is due makes the attempt.
    const { unproven: another } = await connected();
    for (const each of hostile) await another.enter(each);
    expect(await another.enter(ofPartner('new'), { id: 'job', hasTurn: true })).toEqual({ mayGo: true });
  });

  it('get nothing while the store is away, unless they are known to have answered', async () => {
    const { unproven, proofs, events } = await connected();
    await unproven.delivered(endpoint);
    proofs.isAway = true;
    expect(await unproven.enter(of(endpoint))).toEqual({ mayGo: true });
    for (let n = 0; n < 1_000; n += 1) await unproven.delivered(endpoint);
    expect(events).toEqual(['origin.proven']);
    expect(await unproven.enter(of('partner https://unknown.example'))).toMatchObject({ mayGo: false, hasTurn: false });
    expect(events).toEqual(['origin.proven', 'origins.away']);
    // What could not be told is told with the next 2xx.
    await unproven.delivered('partner https://unknown.example');
    proofs.isAway = false;
    await unproven.delivered('partner https://unknown.example');
    const { unproven: other } = await connected();
    expect(await other.enter(of('partner https://unknown.example'))).toEqual({ mayGo: true });
    expect(other.isProven('partner https://unknown.example')).toBe(true);
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
    expect(await unproven.enter(of(endpoint), { id, hasTurn: false })).toEqual({ mayGo: true });
    await new RedisOriginProofs(client).prove(originOf(endpoint));
    await unproven.look();
    expect((await queue.getJob(id))?.delay).toBe(300_000);
  });
});
