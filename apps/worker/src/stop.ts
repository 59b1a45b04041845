import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { INestMicroservice } from '@nestjs/common';
import { Sender } from '@relay/delivery';
import { Publisher } from '@relay/publishing';
import { HeldJobs, RetryQueue, UnprovenJobs } from '@relay/retry';
import { reasonOf, Tracing, type Log } from '@relay/telemetry';
import { Redis } from 'ioredis';
import { AttemptLog } from './delivery/attempt-log.js';
import { AttemptProcessor } from './queue/attempt.processor.js';
import { Breakers } from './delivery/breakers.js';
import { DeliveryDispatcher } from './delivery/delivery-dispatcher.js';
import { UnprovenOrigins } from './delivery/unproven-origins.js';
import { HistoryWriter } from './reporting/history-writer.js';
import { KafkaLogStrategy } from './log/kafka-log.strategy.js';
import { LogReader } from './log/log-reader.js';
import { ReadingPause } from './log/reading-pause.js';
import { CatchUp } from './catch-up/catch-up.js';
import { ExpiryWatch } from './parking/expiry-watch.js';
import { HeldDeliveries } from './queue/held-deliveries.js';
import { ReplayOrders } from './replays/replay-orders.js';
import { OperationsReporter } from './parking/parking.providers.js';
import { WaitingCounts } from './parking/waiting-counts.js';
import { WebhookHealth } from './webhook-health/webhook-health.js';
import { RegistryKeeper } from './registry/registry-keeper.js';
import { KAFKA_ADMIN, QUEUE_REDIS } from './worker.module.js';
import type { Admin } from 'kafkajs';

/**
 * In this order, each with a bound of its own, 25 s in all: whatever hangs (Redis or Kafka frozen,
 * an endpoint), what comes after it has its time. An attempt ends at its deadline (15 s), so what runs has 16 s.
 */
const STEPS: readonly (readonly [
  what: string,
  withinMs: number,
  step: (app: INestMicroservice) => Promise<unknown>,
])[] = [
  [
    'running attempts',
    16_000,
    (app) =>
      Promise.all([
        app.get(AttemptProcessor).close(),
        app
          .get(CatchUp)
          .stop()
          .then(() => courierIdle(app.get(DeliveryDispatcher))),
      ]),
  ],
  ['the last flush', 3_000, (app) => Promise.all([app.get(Breakers).close(), app.get(LogReader).close()])],
  ['leaving the group', 2_000, (app) => app.get(KafkaLogStrategy).close()],
  [
    'telling attempts',
    2_000,
    (app) =>
      Promise.all([
        app.get(AttemptLog).close(),
        app.get(HistoryWriter).close(),
        app.get(RetryQueue).close(),
        app.get(HeldJobs).close(),
        app.get(UnprovenJobs).close(),
        app.get(OperationsReporter).close(),
        app.get(RegistryKeeper).stop(),
        app.get<Tracing | undefined>(Tracing)?.close(),
      ]),
  ],
  [
    'closing connections',
    1_000,
    (app) =>
      Promise.all([app.get(Publisher).close(), app.get(Sender).close(), app.get<Admin>(KAFKA_ADMIN).disconnect()]),
  ],
];

/**
 * Reads no more, lets what runs end, flushes, leaves the group. What does not end in time is no loss: it is read again,
 * or its job is taken up by another worker.
 * @returns the process's exit code
 */
export async function stopWorker(app: INestMicroservice, health: Server, log: Log, signal: string): Promise<number> {
  log.info('worker.stopping', 'The worker takes nothing more and lets running attempts end', { signal });
  app.get(KafkaLogStrategy).stopReading();
  app.get(ReadingPause).stop();
  app.get(WaitingCounts).stop();
  app.get(ExpiryWatch).stop();
  app.get(ReplayOrders).stop();
  app.get(HeldDeliveries).stop();
  app.get(WebhookHealth).stop();
  app.get(UnprovenOrigins).stop();
  let finished = true;
  for (const [what, withinMs, step] of STEPS) {
    const late = delay(withinMs, `not within ${withinMs} ms`, { ref: false });
    const fault = await Promise.race([step(app).then(() => undefined), late]).catch(reasonOf);
    if (fault === undefined) continue;
    finished = false;
    log.warn('worker.stop_failed', 'A step of stopping failed; the next one is made, and nothing is lost by it', {
      step: what,
      reason: fault,
    });
  }
  app.get(Redis).disconnect();
  app.get<Redis>(QUEUE_REDIS).disconnect();
  health.close();
  log.info(
    'worker.stopped',
    finished ? 'All that ran has ended and is flushed' : 'Stopped before all that ran had ended; it is taken up again',
  );
  return 0;
}

async function courierIdle(courier: DeliveryDispatcher): Promise<void> {
  while (courier.load > 0) await delay(20);
}
