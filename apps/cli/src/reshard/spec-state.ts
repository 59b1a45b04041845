import { randomUUID } from 'node:crypto';
import { DeadLetterIndex, DeadLetterReader } from '@relay/dead-letters';
import { RedisRepeatCounts, RedisSeenStore } from '@relay/dedupe';
import { deliveryId } from '@relay/delivery';
import { RedisAttemptCounts, RedisDeliveryHistory, ShardAttemptCounts, ShardHistory } from '@relay/history';
import { type DeliveryJob, DisabledWebhookJobs, newJob, UnprovenJobs, WaitingJobs } from '@relay/jobs';
import { parkedWebhooks, RedisPartitionProgress, type LogPartition, type ParkingWrite } from '@relay/progress';
import { Replays } from '@relay/replays';
import { BullmqRetryQueue, PendingDeliveries } from '@relay/retry';
import type { Shards } from '@relay/redis';

export const WINDOW_MS = 72 * 3_600_000;
export const AT: readonly LogPartition[] = [0, 1].map((partition) => ({ topic: 'task.created', partition }));
const ORIGIN = 'https://silent.example:8443';
const HASH = '0123456789abcdef';
const DUE_AT = Date.now() + 3_600_000;
/** BullMQ jobs contain a short body; a long body is stored beside its job. */
const BODIES = ['{}', `{"long":"${'x'.repeat(5_000)}"}`];
const RANGES = [{ from: 30, to: 60 }, { from: 80 }];

/** A state in Redis that has something of each kind, written as the roles write it. */
export class SpecState {
  readonly ids = Array.from({ length: 120 }, () => randomUUID());
  readonly webhookId = randomUUID();

  job(envelopeId: string, n: number): DeliveryJob {
    const envelope = { id: envelopeId, type: 'task.created', contentHash: HASH, bytes: Buffer.from(BODIES[n % 2]!) };
    const record = { envelope, acceptedAt: 1_000 + n, waitedSince: undefined, traceparent: undefined };
    return newJob({ id: this.webhookId, partnerId: 'acme' }, record as unknown as Parameters<typeof newJob>[1]);
  }

  async fill(shards: Shards): Promise<void> {
    const { ids, webhookId } = this;
    const redis = shards.global;
    await new RedisSeenStore(shards, WINDOW_MS).markPublished(ids.slice(0, 40).map((id) => ({ id, hash: HASH })));
    await new RedisRepeatCounts(shards, WINDOW_MS).add(
      new Map(ids.slice(0, 20).map((id, n) => [id, { duplicates: n + 1, conflicts: n % 3 }])),
    );
    const queue = new BullmqRetryQueue(shards);
    const jobs = ids.slice(40, 80).map((id, n) => this.job(id, n));
    await Promise.all(jobs.map((job, n) => queue.add({ job, at: n < 20 ? DUE_AT + n : 0 })));
    await Promise.all(
      ids
        .slice(80, 100)
        .map((id, n) =>
          queue.addDeadLetter(Object.assign(this.job(id, n), { reason: 'gone' as const, diedAt: Date.now() - n })),
        ),
    );
    await queue.close();
    const [held, unproven] = [new DisabledWebhookJobs(shards), new UnprovenJobs(shards)];
    for (const job of jobs.slice(0, 12)) await held.hold(webhookId, deliveryId(job));
    for (const job of jobs.slice(8, 24)) await unproven.hold(ORIGIN, deliveryId(job), DUE_AT);
    const replays = new Replays(redis, shards);
    const order = { id: 'one', webhookId, partnerId: 'acme', eventType: 'task.created', status: 'all' } as const;
    const times = { since: undefined, until: undefined, orderedBy: 'partner' } as const;
    await replays.create(
      { ...order, ...times },
      AT.map((at) => ({ ...at, from: 3, end: 40 })),
      Date.now(),
    );
    const [key = ''] = (await replays.orders()).keys;
    for (const [number, shard] of shards.all.entries()) {
      const own = ids.filter((id) => shards.of(id) === shard);
      await new ShardHistory(shard, WINDOW_MS).add(
        own.map((envelopeId, n) => ({
          webhookId,
          envelopeId,
          acceptedAt: 5,
          series: 0,
          attempts: [{ at: 10 + n, durationMs: 3, status: 204 }],
        })),
      );
      const facts = { at: 100 + number, durationMs: 1, status: 500 };
      await new ShardAttemptCounts(shard, WINDOW_MS).add([
        { webhookId, failed: 3 + number, delivered: 5, last: facts, good: { ...facts, status: 204 } },
      ]);
      const progress = new RedisPartitionProgress(shard, WINDOW_MS);
      for (const at of AT) await this.#read(progress, at, own, key, number);
      if (!shard.isGlobal) await shard.redis.zadd(shard.key('notices'), 5, `5 {"line":${number}}`);
      await shard.redis.set(shard.key('rewritten'), 'run');
    }
  }

  async #read(
    progress: RedisPartitionProgress,
    at: LogPartition,
    own: readonly string[],
    replay: string,
    number: number,
  ): Promise<void> {
    await progress.own(at, 'worker', { take: true, start: 0 });
    const parking: ParkingWrite = {
      changed: new Map([
        [this.webhookId, RANGES],
        [replay, [{ from: 20, to: 40 }]],
      ]),
      replays: new Map([[replay, { done: 4, failed: 2 }]]),
      dropped: [33, 34],
      keptFrom: 30,
      next: 90 + number,
    };
    await progress.flush(at, {
      token: 'worker',
      confirmed: { highWater: 0, sequence: 1 },
      next: { highWater: 70 + number, sequence: 2 },
      read: { next: 90 + number, newest: 1_000 + number },
      settled: own.filter((_, n) => n % 2 === at.partition).map((id) => ({ id, hash: HASH })),
      partial: own.slice(0, 3).map((id) => ({ id, webhookIds: [this.webhookId] })),
      whole: [],
      parking,
    });
    await progress.release(at, 'worker');
  }

  /** Reads everything that roles can read of the state, except what changes with the number of shards. */
  async read(shards: Shards): Promise<Record<string, unknown>> {
    const { ids, webhookId } = this;
    const [letters, index, pending, repeats] = [
      new DeadLetterReader(shards),
      new DeadLetterIndex(shards),
      new PendingDeliveries(shards, shards),
      new RedisRepeatCounts(shards, WINDOW_MS),
    ];
    const history = new RedisDeliveryHistory(shards, WINDOW_MS);
    const [held, unproven, waiting] = [
      new DisabledWebhookJobs(shards),
      new UnprovenJobs(shards),
      new WaitingJobs(shards),
    ];
    const found = [];
    for await (const slice of letters.read((await letters.ids()).toSorted()))
      for (const letter of slice) found.push([letter.id, await letters.withBody(letter)]);
    const bodies = await Promise.all(
      shards.all.map(async (shard) =>
        Promise.all(
          (await shard.redis.keys(`${shard.tag}:body:*`)).map(
            async (key) => [key.slice(shard.tag.length), await shard.redis.hgetall(key)] as const,
          ),
        ),
      ),
    );
    const state = {
      seen: await new RedisSeenStore(shards, WINDOW_MS).find(ids),
      repeats: await Promise.all(ids.slice(0, 21).map((id) => repeats.of(id))),
      letters: found,
      deadOfWebhook: await index.ofWebhook(webhookId, {}, 500),
      waiting: [(await waiting.ids(webhookId)).toSorted(), await waiting.counts()],
      pending: (await pending.waiting(webhookId)).toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      ofEnvelope: await Promise.all(ids.map((id) => pending.ofEnvelope(id))),
      bodies: new Map(bodies.flat()),
      held: [await held.webhooks(), await unproven.origins()],
      history: (await history.ofWebhook(webhookId, {}, 500))
        .map(({ place: _place, ...line }) => line)
        .toSorted((a, b) => (a.envelopeId < b.envelopeId ? -1 : 1)),
      ofEnvelopes: (await Promise.all(ids.map((id) => history.ofEnvelope(id, [webhookId])))).map((lines) =>
        lines.map(({ place: _place, ...line }) => line),
      ),
      attempts: (await new RedisAttemptCounts(shards, WINDOW_MS).of([webhookId])).map(
        ({ lastDelivered: _last, ...counts }) => counts,
      ),
      successes: (await new RedisAttemptCounts(shards, WINDOW_MS).hours([webhookId], {})).reduce(
        (sum, { delivered }) => sum + delivered,
        0,
      ),
      parked: [...(await parkedWebhooks(shards))],
      replay: await new Replays(shards.global, shards).find('one', 10 ** 13),
      partials: await Promise.all(AT.map((at) => this.#partials(shards, at))),
    };
    await Promise.all([letters.close(), pending.close(), held.close(), unproven.close()]);
    return state;
  }

  async #partials(shards: Shards, at: LogPartition): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const found = await Promise.all(
      shards.all.map((shard) =>
        new RedisPartitionProgress(shard, WINDOW_MS).partials(
          at,
          this.ids.filter((id) => shards.of(id) === shard),
        ),
      ),
    );
    const marks = new Map<string, ReadonlySet<string>>();
    for (const part of found) for (const [id, webhooks] of part) if (webhooks.size > 0) marks.set(id, webhooks);
    return marks;
  }
}
