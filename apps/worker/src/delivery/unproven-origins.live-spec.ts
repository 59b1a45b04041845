import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { originOf, RedisOriginProofs, type Turn, type TurnAsked } from '@relay/breaker';
import { bullOptions, DELIVERIES_QUEUE, UnprovenJobs } from '@relay/retry';
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

  override turn(asked: TurnAsked): Promise<Turn> {
    return this.isAway ? Promise.reject(new Error('away')) : super.turn(asked);
  }

  override prove(origin: string): Promise<void> {
    return this.isAway ? Promise.reject(new Error('away')) : super.prove(origin);
  }
}

describe('probation', () => {
  let server: RedisServer;
  let queue: Queue;
  let queueClient: Redis;
  const opened: { close(): Promise<void> }[] = [];
  let origins = 0;
  let endpoint: string;
  beforeAll(async () => {
    server = await startRedisServer();
    queueClient = new Redis(server.url(), { maxRetriesPerRequest: null });
    queue = new Queue(DELIVERIES_QUEUE, bullOptions(queueClient));
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
    const jobs = new UnprovenJobs(jobsClient);
    const events: string[] = [];
    const tell = (event: string): void => void events.push(event);
    const log = new ThrottledLog({ debug: tell, info: tell, warn: tell, error: tell });
    const proofs = new Cuttable(client);
    const probation = new UnprovenOrigins(proofs, jobs, log, { DELIVERY_TIMEOUT: 15_000 });
    opened.push({
      close: async () => {
        probation.onModuleDestroy();
        await jobs.close();
        client.disconnect();
        jobsClient.disconnect();
      },
    });
    return { client, proofs, jobs, probation, events };
  };
  const connected = async () => {
    const worker = aWorker();
    await worker.client.connect();
    return worker;
  };
  /** A worker that holds deliveries in memory; each attempt takes `takesMs` and ends so. */
  const holding = async (ends: () => 'delivered' | 'failed', takesMs: number, seen = { running: 0, most: 0 }) => {
    const { probation, ...worker } = await connected();
    const [ran, offered, stored]: [number[], number[], number[]] = [[], [], []];
    const tryOuts = new TrialQueue<number>(
      probation,
      {
        run: async (item, turn) => {
          ran.push(item);
          seen.most = Math.max(seen.most, (seen.running += 1));
          await delay(takesMs);
          seen.running -= 1;
          await probation.ended(endpoint, turn, ends());
        },
        offer: (item) => void offered.push(item),
        store: (_, at) => void stored.push(at),
      },
      MAX_WAIT_MS,
    );
    probation.onProof((origin) => tryOuts.release(origin));
    return { ...worker, probation, tryOuts, ran, offered, stored };
  };
  const ended = async (tryOuts: TrialQueue<number>): Promise<void> => {
    while (tryOuts.waiting > 0) await delay(5);
  };

  it('tries one of a thousand and releases the others, in order, as soon as that is answered 2xx', async () => {
    const { tryOuts, ran, offered, stored, probation } = await holding(() => 'delivered', 2);
    for (let n = 0; n < 1_000; n += 1) tryOuts.hold(n, endpoint);
    await ended(tryOuts);
    expect([ran, stored]).toEqual([[0], []]);
    expect(offered).toEqual(Array.from({ length: 999 }, (_, n) => n + 1));
    expect(probation.isProven(endpoint)).toBe(true);
    expect(probation.isProven(`another ${originOf(endpoint)}`)).toBe(true);
  });

  it('releases what waits of other partners too', async () => {
    const { tryOuts, offered } = await holding(() => 'delivered', 20);
    tryOuts.hold(0, endpoint);
    for (let n = 1; n < 4; n += 1) tryOuts.hold(n, `partner-${n} ${originOf(endpoint)}`);
    await ended(tryOuts);
    expect(offered.toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
  });

  it('makes jobs of what waits longer than a quarter of a second, one a second after the other', async () => {
    const { tryOuts, ran, offered, stored } = await holding(() => 'failed', 2);
    const before = Date.now();
    for (let n = 0; n < 101; n += 1) tryOuts.hold(n, endpoint);
    await ended(tryOuts);
    expect([ran, offered]).toEqual([[0], []]);
    expect(stored).toHaveLength(100);
    for (const [n, at] of stored.entries()) expect(at).toBeGreaterThanOrEqual(before + 1_000 * Math.max(1, n));
    expect(Math.max(...stored)).toBeLessThan(Date.now() + 103_000);
  });

  it('never tries two at once over two workers, nor more than one a second', async () => {
    const seen = { running: 0, most: 0 };
    const workers = [await holding(() => 'failed', 30, seen), await holding(() => 'failed', 30, seen)];
    const from = performance.now();
    while (performance.now() - from < 3_500) {
      for (const { tryOuts } of workers) for (let n = 0; n < 5; n += 1) tryOuts.hold(n, endpoint);
      await delay(100);
    }
    const tried = workers.reduce((sum, { ran }) => sum + ran.length, 0);
    for (const { tryOuts } of workers) await ended(tryOuts);
    expect(seen.most).toBe(1);
    expect(tried).toBeGreaterThanOrEqual(2);
    expect(tried).toBeLessThanOrEqual((performance.now() - from) / 1_000 + 1);
  });

  it('asks nothing for an origin that is known to have answered, and gives others nothing, while the store is away', async () => {
    const { probation, proofs, events } = await connected();
    await probation.ended(endpoint, FREE, 'delivered');
    proofs.isAway = true;
    expect(await probation.enter(endpoint)).toBe(FREE);
    for (let n = 0; n < 1_000; n += 1) await probation.ended(endpoint, FREE, 'delivered');
    expect(events).toEqual(['origin.proven']);
    expect(await probation.enter('partner https://unknown.example')).toMatchObject({ kind: 'wait' });
    expect(events).toEqual(['origin.proven', 'origins.away']);
    // What could not be told is told with the next 2xx.
    await probation.ended('partner https://unknown.example', FREE, 'delivered');
    proofs.isAway = false;
    await probation.ended('partner https://unknown.example', FREE, 'delivered');
    const { probation: other } = await connected();
    expect(await other.enter('partner https://unknown.example')).toEqual(FREE);
  });

  it('lets the jobs of an origin go when another process has seen it answer, and no others', async () => {
    const { probation } = await connected();
    const [one, other] = [`one-${origins}`, `other-${origins}`];
    for (const jobId of [one, other]) await queue.add('x', {}, { jobId, delay: 300_000 });
    await probation.hold(endpoint, one, Date.now() + 300_000);
    await probation.hold('partner https://silent.example', other, Date.now() + 300_000);
    await probation.look();
    const due = async (id: string): Promise<number> => (await queue.getJob(id))?.delay ?? -1;
    expect(await due(one)).toBe(300_000);
    const { client } = await connected();
    await new RedisOriginProofs(client).prove(originOf(endpoint));
    await probation.look();
    expect([(await due(one)) < 1_000, await due(other), probation.isProven(endpoint)]).toEqual([true, 300_000, true]);
    expect(await client.smembers('{relay:0}:unproven:jobs')).toEqual(['https://silent.example']);
  });

  it('does not bring forward what waits for its schedule since it had its turn', async () => {
    const { probation, client } = await connected();
    const id = `scheduled-${origins}`;
    await queue.add('x', {}, { jobId: id, delay: 300_000 });
    await probation.hold(endpoint, id, Date.now() + 10);
    const turn: Admission = await probation.enter(endpoint, id);
    expect(turn.kind).toBe('turn');
    await probation.ended(endpoint, turn, 'failed');
    await new RedisOriginProofs(client).prove(originOf(endpoint));
    await probation.look();
    expect((await queue.getJob(id))?.delay).toBe(300_000);
  });
});
