import type { INestApplicationContext } from '@nestjs/common';
import { EVENT_TYPES, topicOf } from '@relay/events';
import {
  readLag,
  readMemory,
  readQueues,
  replayFigures,
  tellKeyAges,
  tellStores,
  withShownStatus,
  type StoreSources,
} from '@relay/operations';
import { PARKED, Replays } from '@relay/progress';
import { Health, tellProcess, ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView, UNVERIFIED } from '@relay/webhooks';
import { Redis } from 'ioredis';
import type { Admin } from 'kafkajs';
import { Registry } from 'prom-client';
import { Breakers } from '../delivery/breakers.js';
import { DeliveryDispatcher } from '../delivery/delivery-dispatcher.js';
import { registerEndpointGauge } from './endpoint-gauge.js';
import { UnprovenOrigins } from '../delivery/unproven-origins.js';
import { LogReader } from '../log/log-reader.js';
import { ExpiryWatch } from '../parking/expiry-watch.js';
import { registerParkedGauges } from './parked-gauge.js';
import type { WorkerConfig } from '../worker.config.js';
import { KAFKA_ADMIN } from '../worker.module.js';

const DAY_MS = 86_400_000;
/** More replays than that are not read for a scrape. */
const NEWEST = 1_000;

/** Makes a worker tell what it does not count itself: what it is, what the stores hold, how old the key is. */
export function registerMetrics(app: Pick<INestApplicationContext, 'get'>, config: WorkerConfig): void {
  const [registry, redis, log] = [app.get<Registry>(Registry), app.get(Redis), app.get(ThrottledLog)];
  const topics = EVENT_TYPES.map((type) => topicOf(config.KAFKA_TOPIC_PREFIX, type));
  tellProcess(registry, 'worker', app.get(Health));
  tellKeyAges(registry, redis, { encryption: config.ENCRYPTION_KEYS }, log);
  registerEndpointGauge(registry, app.get(DeliveryDispatcher), app.get(Breakers), app.get(UnprovenOrigins), Date.now);
  registerParkedGauges(registry, app.get(LogReader), app.get(ExpiryWatch));
  const replays = new Replays(redis);
  const sources: StoreSources = {
    queues: () => readQueues(redis, Date.now()),
    lag: () => readLag(app.get<Admin>(KAFKA_ADMIN), config.KAFKA_CONSUMER_GROUP, topics),
    memory: () => readMemory(redis),
    webhooks: () => webhooksByStatus(redis, app.get(RedisWebhookView)),
    parked: () => redis.scard(PARKED),
    replays: async () => replayFigures(await replays.newest(Date.now() - DAY_MS, NEWEST, Date.now())),
  };
  tellStores(registry, sources, log);
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
