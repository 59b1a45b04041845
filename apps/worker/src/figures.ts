import type { INestApplicationContext } from '@nestjs/common';
import { EVENT_TYPES, topicOf } from '@relay/events';
import { readQueues } from '@relay/jobs';
import { readLag } from '@relay/kafka';
import { readMemory, type StoreSources, registerKeyAges, registerStoreGauges } from '@relay/metrics';
import { PARKED, withShownStatus } from '@relay/progress';
import { replayTotals, Replays } from '@relay/replays';
import { Health, registerProcessMetrics, ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView, UNVERIFIED } from '@relay/webhooks';
import { Redis } from 'ioredis';
import type { Admin } from 'kafkajs';
import { Registry } from 'prom-client';
import { Breakers } from './delivery/breakers.js';
import { Courier } from './delivery/courier.js';
import { tellEndpoints } from './delivery/endpoint-gauge.js';
import { Probation } from './delivery/probation.js';
import { LogReader } from './log/log-reader.js';
import { ExpiryWatch } from './parking/expiry-watch.js';
import { tellParked } from './parking/parked-gauge.js';
import type { WorkerConfig } from '@relay/settings';
import { KAFKA_ADMIN } from './worker.module.js';

const DAY_MS = 86_400_000;
/** More replays than that are not read for a scrape. */
const NEWEST = 1_000;

/** Makes a worker tell what it does not count itself: what it is, what the stores hold, how old the key is. */
export function tellFigures(app: Pick<INestApplicationContext, 'get'>, config: WorkerConfig): void {
  const [registry, redis, log] = [app.get<Registry>(Registry), app.get(Redis), app.get(ThrottledLog)];
  const topics = EVENT_TYPES.map((type) => topicOf(config.KAFKA_TOPIC_PREFIX, type));
  registerProcessMetrics(registry, 'worker', app.get(Health));
  registerKeyAges(registry, redis, { encryption: config.ENCRYPTION_KEYS }, log);
  tellEndpoints(registry, app.get(Courier), app.get(Breakers), app.get(Probation), Date.now);
  tellParked(registry, app.get(LogReader), app.get(ExpiryWatch));
  const replays = new Replays(redis);
  const sources: StoreSources = {
    queues: () => readQueues(redis, Date.now()),
    lag: () => readLag(app.get<Admin>(KAFKA_ADMIN), config.KAFKA_CONSUMER_GROUP, topics),
    memory: () => readMemory(redis),
    webhooks: () => webhooksByStatus(redis, app.get(RedisWebhookView)),
    parked: () => redis.scard(PARKED),
    replays: async () => replayTotals(await replays.newest(Date.now() - DAY_MS, NEWEST, Date.now())),
  };
  registerStoreGauges(registry, sources, log);
}

async function webhooksByStatus(redis: Redis, webhooks: RedisWebhookView): Promise<Record<string, number>> {
  await webhooks.refresh();
  const counts = { active: 0, parked: 0, disabled: 0, unverified: 0 };
  const all = EVENT_TYPES.flatMap((type) => webhooks.matching(type, []));
  // Each registration is disabled until its endpoint is verified: nobody is to be called for that.
  for (const { webhook, status } of await withShownStatus(redis, all))
    counts[webhook.disabledReason === UNVERIFIED.disabledReason ? 'unverified' : status] += 1;
  return counts;
}
