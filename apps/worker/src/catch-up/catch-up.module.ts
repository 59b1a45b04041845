import { Module } from '@nestjs/common';
import { RedisSeenStore } from '@relay/dedupe';
import { DeliveryDispatcher } from '../delivery/delivery-dispatcher.js';
import { DeliveryModule } from '../delivery/delivery.module.js';
import { LogModule } from '../log/log.module.js';
import { ParkingModule } from '../parking/parking.module.js';
import { WORKER_CONFIG } from '../platform/tokens.js';
import { QueueModule } from '../queue/queue.module.js';
import { RegistryModule } from '../registry/registry.module.js';
import { ReplaysModule } from '../replays/replays.module.js';
import { Shards } from '@relay/redis';
import type { WorkerConfig } from '@relay/settings';
import { CatchUp } from './catch-up.js';
import { CatchUpCandidates } from './catch-up-candidates.js';
import { CatchUpDeliveries } from './catch-up-deliveries.js';
import { CatchUpRecords, PassReader } from './pass-reader.js';
import { CatchUpThrottle } from './catch-up-pass.js';

/** Milliseconds without a live delivery after which catch-ups speed up. */
const LIVE_MS = 5_000;

/** Reads the log again for parked webhooks and replays. */
@Module({
  imports: [DeliveryModule, LogModule, ParkingModule, QueueModule, RegistryModule, ReplaysModule],
  providers: [
    {
      provide: CatchUpThrottle,
      useFactory: (dispatcher: DeliveryDispatcher) => new CatchUpThrottle(() => dispatcher.idleMs < LIVE_MS),
      inject: [DeliveryDispatcher],
    },
    {
      provide: RedisSeenStore,
      useFactory: (shards: Shards, config: WorkerConfig) => new RedisSeenStore(shards, config.DEDUPE_WINDOW),
      inject: [Shards, WORKER_CONFIG],
    },
    CatchUpCandidates,
    CatchUpRecords,
    CatchUpDeliveries,
    PassReader,
    CatchUp,
  ],
})
export class CatchUpModule {}
