import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { INestMicroservice } from '@nestjs/common';
import { Sender } from '@relay/delivery';
import { Publisher } from '@relay/publishing';
import { RetryQueue } from '@relay/retry';
import { reasonOf, type Log } from '@relay/telemetry';
import { Redis } from 'ioredis';
import { AttemptLog } from './delivery/attempt-log.js';
import { AttemptProcessor } from './delivery/attempt.processor.js';
import { Courier } from './delivery/courier.js';
import { KafkaLogStrategy } from './log/kafka-log.strategy.js';
import { LogReader } from './log/log-reader.js';
import { ReadingPause } from './log/reading-pause.js';
import { KAFKA_ADMIN, QUEUE_REDIS } from './worker.module.js';
import type { Admin } from 'kafkajs';

/** An attempt ends at its deadline, so what runs ends within this; the whole stop takes at most 25 s. */
const RUNNING_MS = 16_000;
const ALL_MS = 25_000;

/**
 * Stops in the order of contract section 8: reads no more, lets what runs end, flushes, leaves the group. What does not
 * end in time is no loss: it is read again, or its job is taken up by another worker.
 * @returns the process's exit code
 */
export async function stopWorker(app: INestMicroservice, health: Server, log: Log, signal: string): Promise<number> {
  log.info('worker.stopping', 'The worker takes nothing more and lets running attempts end', { signal });
  const finished = await Promise.race([steps(app).then(() => true), delay(ALL_MS, false, { ref: false })]).catch(
    (error: unknown) => {
      log.warn('worker.stop_failed', 'A step of stopping failed; nothing is lost by it', { reason: reasonOf(error) });
      return false;
    },
  );
  health.close();
  log.info(
    'worker.stopped',
    finished ? 'All that ran has ended and is flushed' : 'Stopped before all that ran had ended; it is taken up again',
  );
  return 0;
}

async function steps(app: INestMicroservice): Promise<void> {
  const strategy = app.get(KafkaLogStrategy);
  strategy.stopReading();
  app.get(ReadingPause).stop();
  await Promise.race([
    Promise.all([app.get(AttemptProcessor).close(), courierIdle(app.get(Courier))]),
    delay(RUNNING_MS, undefined, { ref: false }),
  ]);
  await app.get(LogReader).close();
  await strategy.close();
  await app.get(AttemptLog).close();
  await app.get(RetryQueue).close();
  await app.get(Publisher).close();
  await app.get(Sender).close();
  await app.get<Admin>(KAFKA_ADMIN).disconnect();
  app.get(Redis).disconnect();
  app.get<Redis>(QUEUE_REDIS).disconnect();
}

async function courierIdle(courier: Courier): Promise<void> {
  while (courier.load > 0) await delay(20);
}
