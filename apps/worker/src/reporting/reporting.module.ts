import {
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type Provider,
} from '@nestjs/common';
import { deadLettersTopic, deliveryAttemptsTopic, operationsTopic } from '@relay/events';
import { ShardAttemptCounts, ShardHistory } from '@relay/history';
import { NoticeLines, Notices } from '@relay/notices';
import { Publisher } from '@relay/publishing';
import { type Shard, Shards } from '@relay/redis';
import type { WorkerConfig } from '@relay/settings';
import { Log, ThrottledLog } from '@relay/telemetry';
import { LogModule } from '../log/log.module.js';
import { ReadingPause } from '../log/reading-pause.js';
import { WORKER_CONFIG } from '../platform/tokens.js';
import {
  ATTEMPTS_REPORTER,
  DEAD_DELIVERIES_REPORTER,
  DEAD_LETTERS_REPORTER,
  EventReporter,
  WEBHOOKS_REPORTER,
} from './event-reporter.js';
import { HistoryWriter, ShardHistoryWriter } from './history-writer.js';

const LOOK_MS = 1_000;

/**
 * Publishes notices that are stored in Redis and still unpublished. There are such notices when a webhook was parked, when a
 * process was killed, or when Kafka did not answer.
 */
@Injectable()
export class NoticeWatch implements OnApplicationBootstrap, OnModuleDestroy {
  #timer: NodeJS.Timeout | undefined;

  constructor(@Inject(Notices) private readonly notices: Pick<Notices, 'publish'>) {}

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => void this.notices.publish(true), LOOK_MS).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.#timer);
  }
}

/** Maximum number of history lines that a process keeps while Redis does not answer, over all shards. */
const MOST_LINES = 20_000;

const reporter = (provide: symbol, topicFor: (prefix: string) => string): Provider => ({
  provide,
  useFactory: (publisher: Publisher, log: ThrottledLog, config: WorkerConfig) =>
    new EventReporter(publisher, topicFor(config.KAFKA_TOPIC_PREFIX), log),
  inject: [Publisher, ThrottledLog, WORKER_CONFIG],
});

/** Records that no delivery waits for: topics that other systems read, and the history that partners read. */
@Module({
  imports: [LogModule],
  providers: [
    reporter(ATTEMPTS_REPORTER, deliveryAttemptsTopic),
    reporter(DEAD_LETTERS_REPORTER, deadLettersTopic),
    reporter(DEAD_DELIVERIES_REPORTER, operationsTopic),
    reporter(WEBHOOKS_REPORTER, operationsTopic),
    {
      provide: HistoryWriter,
      useFactory: (shards: Shards, { HISTORY_WINDOW }: WorkerConfig, pause: ReadingPause, log: ThrottledLog) => {
        const most = Math.floor(MOST_LINES / shards.all.length);
        const writerOf = (shard: Shard): ShardHistoryWriter => {
          const [history, counts] = [
            new ShardHistory(shard, HISTORY_WINDOW),
            new ShardAttemptCounts(shard, HISTORY_WINDOW),
          ];
          return new ShardHistoryWriter(history, counts, pause, log, most);
        };
        return new HistoryWriter(shards.per(writerOf));
      },
      inject: [Shards, WORKER_CONFIG, ReadingPause, ThrottledLog],
    },
    {
      provide: Notices,
      useFactory: (shards: Shards, publisher: Publisher, log: Log, config: WorkerConfig) => {
        const lines = new NoticeLines(shards.global, shards);
        return new Notices(lines, publisher, config.KAFKA_TOPIC_PREFIX, new ThrottledLog(log, 60_000));
      },
      inject: [Shards, Publisher, Log, WORKER_CONFIG],
    },
    NoticeWatch,
  ],
  exports: [
    ATTEMPTS_REPORTER,
    DEAD_LETTERS_REPORTER,
    DEAD_DELIVERIES_REPORTER,
    WEBHOOKS_REPORTER,
    HistoryWriter,
    Notices,
  ],
})
export class ReportingModule {}
