import { setTimeout as delay } from 'node:timers/promises';
import { Inject, Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { DeadLetterReader } from '@relay/dead-letters';
import { RepeatCounter } from '@relay/dedupe';
import { Sender } from '@relay/delivery';
import { DisabledWebhookJobs, MisdatedJobs, UnprovenJobs } from '@relay/jobs';
import { AttemptFinder, EnvelopeFinder, type KafkaAdmin, KeptAdmin } from '@relay/kafka';
import { Publisher } from '@relay/publishing';
import { RetryQueue } from '@relay/retry';
import { Log, reasonOf, Tracing } from '@relay/telemetry';
import { CatchUp } from './catch-up/catch-up.js';
import { AttemptLog } from './delivery/attempt-reports.js';
import { Breakers } from './delivery/breakers.js';
import { DeliveryDispatcher } from './delivery/delivery-dispatcher.js';
import { KafkaLogStrategy } from './log/kafka-log.strategy.js';
import { LogReader } from './log/log-reader.js';
import { TopicIds } from './log/log-reader-options.js';
import type { KafkaTopicIds } from './log/topic-ids.adapter.js';
import { KAFKA_ADMIN } from './platform/tokens.js';
import { QueueConsumer } from './queued-attempts/queue-workers.adapter.js';
import { RegistryKeeper } from './registry/registry-keeper.js';
import { type EventReporter, WEBHOOKS_REPORTER } from './reporting/event-reporter.js';
import { HistoryWriter } from './reporting/history-writer.js';

interface Step {
  readonly name: string;
  readonly withinMs: number;
  readonly close: (parts: Parts) => readonly Promise<unknown>[];
}

type Parts = Pick<ModuleRef, 'get'>;

/**
 * The steps of the shutdown. Their order matters: running attempts end before the last flush stores them, and the flush is
 * made while this worker still owns its partitions. Nest's shutdown hooks guarantee no order across modules and have no time
 * limit. Here each step has a time limit, 24 s in all, so that a step that hangs, for example because Redis does not answer,
 * leaves time for the next steps. The first step has 16 s. An attempt that lasts longer is cut off, and another worker makes
 * it again. Classes that only have a timer stop it in `onModuleDestroy`, which Nest calls before the first step.
 */
const STEPS: readonly Step[] = [
  {
    name: 'running attempts',
    withinMs: 16_000,
    close: (parts) => [
      parts.get(QueueConsumer).close(),
      parts
        .get(CatchUp)
        .close()
        .then(() => parts.get(DeliveryDispatcher).close()),
    ],
  },
  {
    name: 'the last flush',
    withinMs: 3_000,
    close: (parts) => [parts.get(Breakers).close(), parts.get(LogReader).close()],
  },
  { name: 'leaving the group', withinMs: 2_000, close: (parts) => [parts.get(KafkaLogStrategy).leave()] },
  {
    name: 'telling attempts',
    withinMs: 2_000,
    close: (parts) => [
      parts.get(AttemptLog).close(),
      parts.get(HistoryWriter).close(),
      parts.get(RepeatCounter).close(),
      // The queue closes the reporters of dead letters.
      parts.get<RetryQueue>(RetryQueue).close(),
      parts.get(DisabledWebhookJobs).close(),
      parts.get(MisdatedJobs).close(),
      parts.get(UnprovenJobs).close(),
      parts.get<EventReporter>(WEBHOOKS_REPORTER).close(),
      parts.get(RegistryKeeper).close(),
      parts.get<Tracing | undefined>(Tracing)?.close() ?? Promise.resolve(),
    ],
  },
  {
    name: 'closing connections',
    withinMs: 1_000,
    close: (parts) => [
      parts.get<Publisher>(Publisher).close(),
      parts.get<Sender>(Sender).close(),
      parts.get<KafkaAdmin>(KAFKA_ADMIN).disconnect(),
      parts.get(AttemptFinder).close(),
      parts.get(EnvelopeFinder).close(),
      parts.get(KeptAdmin).close(),
      parts.get<KafkaTopicIds>(TopicIds).close(),
      parts.get(DeadLetterReader).close(),
    ],
  },
];

/**
 * Ends running attempts, flushes the progress and leaves the consumer group. Nothing is lost if a step does not end in time,
 * because other workers read its records again and take its jobs.
 */
@Injectable()
export class Shutdown implements BeforeApplicationShutdown {
  #isComplete = true;

  constructor(
    private readonly moduleRef: ModuleRef,
    @Inject(Log) private readonly log: Log,
  ) {}

  /** Whether every step has ended in time. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  async beforeApplicationShutdown(): Promise<void> {
    const parts: Parts = { get: (token: never) => this.moduleRef.get(token, { strict: false }) };
    for (const { name, withinMs, close } of STEPS) {
      const late = delay(withinMs, `not within ${withinMs} ms`, { ref: false });
      const closed = Promise.all(close(parts)).then(() => undefined);
      const fault = await Promise.race([closed, late]).catch(reasonOf);
      if (fault === undefined) continue;
      this.#isComplete = false;
      this.log.warn(
        'worker.stop_failed',
        'A step of the shutdown failed; the worker continues with the next step, and nothing is lost',
        {
          step: name,
          reason: fault,
        },
      );
    }
  }
}
