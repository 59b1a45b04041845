import { Injectable } from '@nestjs/common';
import { ENVELOPE_TYPES } from '@relay/events';
import { readQueues } from '@relay/jobs';
import { fullestMemory, readDisks, readShards, registerShardGauges, registerStoreGauges } from '@relay/metrics';
import { parkedWebhooks, withShownStatus } from '@relay/progress';
import { NoticeLines } from '@relay/notices';
import { Shards } from '@relay/redis';
import { Replays, replayTotals } from '@relay/replays';
import { ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView, UNVERIFIED } from '@relay/webhooks';
import { Registry } from 'prom-client';
import { ConsumerLag } from './consumer-lag.js';

const DAY_MS = 86_400_000;
/** Maximum of replays read for one scrape, the newest first. */
const MAX_REPLAYS = 1_000;

/** The metrics that are read from Redis and Kafka at each scrape. */
@Injectable()
export class StoreMetrics {
  constructor(registry: Registry, shards: Shards, webhooks: RedisWebhookView, lag: ConsumerLag, log: ThrottledLog) {
    const replays = new Replays(shards.global, shards);
    registerStoreGauges(
      registry,
      {
        queues: () => readQueues(shards, Date.now()),
        lag: () => lag.read(),
        memory: () => fullestMemory(shards),
        disks: () => readDisks(shards),
        webhooks: () => webhooksByStatus(shards, webhooks),
        parked: async () => (await parkedWebhooks(shards)).size,
        notices: () => new NoticeLines(shards.global, shards).count(),
        replays: async () => replayTotals(await replays.newest(Date.now() - DAY_MS, MAX_REPLAYS, Date.now())),
      },
      log,
    );
    registerShardGauges(registry, () => readShards(shards), log);
  }
}

async function webhooksByStatus(shards: Shards, webhooks: RedisWebhookView): Promise<Record<string, number>> {
  await webhooks.refresh();
  const counts = { active: 0, parked: 0, disabled: 0, unverified: 0 };
  const all = ENVELOPE_TYPES.flatMap((type) => webhooks.matching(type, []));
  // A registration is disabled until its endpoint is verified; that is no fault, so no alert must count it.
  for (const { webhook, status } of await withShownStatus(shards, all))
    counts[webhook.disabledReason === UNVERIFIED.disabledReason ? 'unverified' : status] += 1;
  return counts;
}
