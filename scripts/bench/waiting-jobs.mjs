// Bytes of Redis for each waiting delivery, by the size of its envelope and how many webhooks wait for it: the built queue's own adapter.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { builtLib, withOwnRedis } from './own-redis.mjs';

const CASES = [
  [1_024, 1],
  [1_024, 10],
  [102_400, 1],
  [102_400, 10],
];
const DELIVERIES = 2_000;

export async function waitingJobs(folder, signal) {
  const { BullmqRetryQueue } = await builtLib('retry');
  const { oneShard } = await builtLib('redis');
  const rows = [];
  for (const [bytes, webhooks] of CASES) {
    const bytesEach = await withOwnRedis(join(folder, `waiting-${bytes}-${webhooks}`), signal, async (client, used) => {
      const queue = new BullmqRetryQueue(oneShard(client));
      const ids = Array.from({ length: webhooks }, () => randomUUID());
      const add = (envelopeId) =>
        Promise.all(
          ids.map((webhookId) => queue.add({ job: aJob(webhookId, envelopeId, bytes), at: Date.now() + 3_600_000 })),
        );
      await add(randomUUID()); // the queue's own keys
      const before = await used();
      for (let done = 0; done < DELIVERIES; done += webhooks) await add(randomUUID());
      const taken = (await used()) - before;
      await queue.close();
      return taken / DELIVERIES;
    });
    rows.push({ bytes, webhooks, bytesEach });
  }
  return rows;
}

const aJob = (webhookId, envelopeId, bytes) => ({
  v: 1,
  webhookId,
  partnerId: `partner_${'x'.repeat(22)}`,
  envelopeId,
  eventType: 'task.created',
  hash: 'aaaaaaaaaaaaaaaa',
  series: 0,
  attempts: 1,
  acceptedAt: Date.now(),
  lastFailure: 'answered 503',
  body: 'x'.repeat(bytes),
});
