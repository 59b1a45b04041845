import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { envelopeTopics, noticesTopic } from '@relay/events';
import { DEAD_LETTERS_QUEUE, DELIVERIES_QUEUE, type QueueState, readQueues } from '@relay/jobs';
import { answeredWithin, Kafka, KeptAdmin, readLag, type TopicLag } from '@relay/kafka';
import { fullestMemory, type RedisMemory } from '@relay/metrics';
import { ProblemError } from '@relay/problem';
import { parkedWebhooks } from '@relay/progress';
import { Shards } from '@relay/redis';
import type { AttemptTally } from '@relay/search';
import { OPERATIONS_CONFIG, type OperationsConfig } from '@relay/settings';
import { Log, reasonOf } from '@relay/telemetry';
import { z } from 'zod';
import { EnvelopeStores } from '../envelopes/envelope-stores.adapter.js';
import { ALERT_RULES, AlertWatch } from './alert-rules.js';

export const QueuesAnswer = z
  .object({
    queues: z.array(
      z.object({
        queue: z.string(),
        state: z.enum(['waiting', 'active', 'delayed', 'failed']),
        jobs: z.int(),
        oldestS: z
          .number()
          .optional()
          .describe('Seconds: since the next job was due, the oldest attempt began, or the oldest job was made.'),
      }),
    ),
  })
  .meta({ id: 'Queues', description: 'Jobs by queue and state.' });

export const LagAnswer = z
  .object({
    total: z.int(),
    topics: z.array(z.object({ topic: z.string(), lag: z.int().describe('Records that are not settled.') })),
  })
  .meta({ id: 'Lag', description: 'What the workers have not settled, by topic.' });

const rate = z.number().nullable();

export const Now = z
  .object({
    at: z.iso.datetime(),
    lag: LagAnswer.nullable(),
    queues: QueuesAnswer.shape.queues.nullable(),
    waiting: z.int().nullable().describe('Queued deliveries, due or not, without those being attempted.'),
    oldestWaitingS: z
      .number()
      .nullable()
      .describe('Seconds since the queued delivery that was due first was due; 0 while none is due.'),
    deadLetters: z.int().nullable(),
    parked: z.int().nullable().describe('Webhooks for which something waits in the log.'),
    rates: z
      .object({
        accepted: rate.describe('Envelopes, by the log.'),
        delivered: rate.describe('Attempts that the endpoint answered 2xx, by the index of attempts.'),
        failed: rate.describe('Other attempts, by the index of attempts.'),
      })
      .describe('Per second, over the last minute.'),
    alerts: z
      .array(
        z.object({
          name: z.string(),
          severity: z.enum(['critical', 'warning', 'info']),
          state: z
            .enum(['firing', 'pending', 'quiet', 'unknown'])
            .describe(
              'By this process: `pending` is true, but not yet for as long as the rule asks. `unknown`: only Prometheus knows, or its store is away.',
            ),
          value: z.number().nullable(),
          since: z.iso.datetime().nullable().describe('Since when the rule is true, as far as this process knows.'),
          means: z.string(),
          runbook: z.string(),
        }),
      )
      .describe('The rules of the chart. After a start of this process one fires later here than in Prometheus.'),
    incomplete: z.array(z.enum(['redis', 'kafka', 'index'])).describe('What is away; its values are null.'),
  })
  .meta({ id: 'Now', description: 'What the relay does at the moment.' });
export type Now = z.infer<typeof Now>;

/** Milliseconds that a store may take to answer. All stores are read at once, so a request stays below its limit of 9 s. */
const PATIENCE_MS = 4_000;
/** Milliseconds during which all callers share one answer, because each answer costs about 45 requests to Kafka. */
const FRESH_MS = 3_000;
const SAMPLE_MS = 30_000;
const RATE_S = 60;

interface Stored {
  readonly queues: QueueState[];
  readonly memory: RedisMemory;
  readonly parked: number;
}

/**
 * State of the stores and of the alerts. It is read on request, at most once in FRESH_MS, and twice a minute for the alerts.
 */
@Injectable()
export class NowState implements OnApplicationShutdown {
  readonly #watch = new AlertWatch(ALERT_RULES);
  readonly #answers: AnswersInTime;
  readonly #shown = new SharedAnswer(
    () => this.#read(),
    FRESH_MS,
    () => performance.now(),
  );
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly shards: Shards,
    private readonly admin: KeptAdmin,
    private readonly stores: EnvelopeStores,
    @Inject(OPERATIONS_CONFIG) private readonly names: OperationsConfig,
    log: Log,
  ) {
    this.#answers = new AnswersInTime(log, PATIENCE_MS);
  }

  /** Starts to evaluate the alerts twice a minute. */
  start(): void {
    this.#timer ??= setInterval(() => void this.#sample(), SAMPLE_MS).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.#timer);
  }

  read(): Promise<Now> {
    return this.#shown.read();
  }

  async #read(): Promise<Now> {
    const now = Date.now();
    const [{ stored, lag }, accepted, tally] = await Promise.all([
      this.#sample(),
      this.#answers.orAway('accepted', () => this.#accepted(now)),
      this.#tally(now),
    ]);
    const deliveries = stored?.queues.filter(({ queue }) => queue === DELIVERIES_QUEUE);
    const due = deliveries?.filter(({ state }) => state === 'waiting' || state === 'delayed');
    return {
      at: new Date(now).toISOString(),
      lag: lag === undefined ? null : { total: sumOf(lag.map((topic) => topic.lag)), topics: lag },
      queues: stored?.queues ?? null,
      waiting: due === undefined ? null : sumOf(due.map(({ jobs }) => jobs)),
      oldestWaitingS: due === undefined ? null : Math.max(0, ...due.map(({ oldestS = 0 }) => oldestS)),
      deadLetters:
        stored === undefined
          ? null
          : sumOf(stored.queues.filter(({ queue }) => queue === DEAD_LETTERS_QUEUE).map(({ jobs }) => jobs)),
      parked: stored?.parked ?? null,
      rates: {
        accepted: accepted === undefined ? null : accepted / RATE_S,
        delivered: tally === undefined ? null : tally.delivered / RATE_S,
        failed: tally === undefined ? null : tally.failed / RATE_S,
      },
      alerts: this.#watch.states().map(({ rule, state, value, since }) => ({
        name: rule.name,
        severity: rule.severity,
        state,
        value: value ?? null,
        since: since === undefined ? null : new Date(since).toISOString(),
        means: rule.means,
        runbook: `docs/operations/runbooks.md#${rule.name.toLowerCase()}`,
      })),
      incomplete: [
        ...(stored === undefined ? (['redis'] as const) : []),
        ...(lag === undefined || accepted === undefined ? (['kafka'] as const) : []),
        ...(tally === undefined ? (['index'] as const) : []),
      ],
    };
  }

  /** Reads queues and lag once, and evaluates the alerts with them. */
  async #sample(): Promise<{ stored: Stored | undefined; lag: TopicLag[] | undefined }> {
    const topics = envelopeTopics(this.names.KAFKA_TOPIC_PREFIX);
    const [stored, lag] = await Promise.all([
      this.#answers.orAway('queues', () => this.#stored()),
      this.#answers.orAway('lag', () =>
        this.admin.ask((admin) => readLag(admin, this.names.KAFKA_CONSUMER_GROUP, topics)),
      ),
    ]);
    const total = lag === undefined ? undefined : sumOf(lag.map((topic) => topic.lag));
    this.#watch.feed({ queues: stored?.queues, memory: stored?.memory, lag: total }, Date.now());
    return { stored, lag };
  }

  async #stored(): Promise<Stored> {
    const [queues, memory, parked] = await Promise.all([
      readQueues(this.shards, Date.now()),
      fullestMemory(this.shards),
      parkedWebhooks(this.shards),
    ]);
    return { queues, memory, parked: parked.size };
  }

  /** Returns the number of records that were added to the sources’ topics within the last minute. */
  #accepted(now: number): Promise<number> {
    const prefix = this.names.KAFKA_TOPIC_PREFIX;
    return this.admin.ask(async (admin) => {
      const existing = new Set(await admin.listTopics());
      const topics = envelopeTopics(prefix).filter((topic) => existing.has(topic) && topic !== noticesTopic(prefix));
      const counts = await Promise.all(
        topics.map(async (topic) => {
          const [starts, ends] = await Promise.all([
            admin.fetchTopicOffsetsByTimestamp(topic, now - RATE_S * 1_000),
            admin.fetchTopicOffsets(topic),
          ]);
          const starting = new Map(starts.map(({ partition, offset }) => [partition, Number(offset)]));
          return sumOf(
            ends.map(({ partition, high }) => {
              const start = starting.get(partition) ?? -1;
              // A partition without a start was created between the two requests. Its records are not counted.
              return start < 0 ? 0 : Math.max(0, Number(high) - start);
            }),
          );
        }),
      );
      return sumOf(counts);
    });
  }

  /** Counts the attempts of the last minute. Returns undefined if the index is off or behind the log. */
  async #tally(now: number): Promise<AttemptTally | undefined> {
    const { index } = this.stores;
    if (index === null || !index.state.isCurrent) return undefined;
    return index.tally(now - RATE_S * 1_000);
  }
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);

/** Reads the current queues and consumer lag. */
@Injectable()
export class StoreState {
  constructor(
    private readonly shards: Shards,
    private readonly kafka: Kafka,
    @Inject(OPERATIONS_CONFIG) private readonly settings: OperationsConfig,
  ) {}

  queues(): Promise<QueueState[]> {
    return readQueues(this.shards, Date.now());
  }

  /** @throws ProblemError `unavailable` if no broker answers */
  async lag(): Promise<TopicLag[]> {
    const admin = this.kafka.admin({ retry: { retries: 1 } });
    const topics = envelopeTopics(this.settings.KAFKA_TOPIC_PREFIX);
    try {
      await admin.connect();
      return await readLag(admin, this.settings.KAFKA_CONSUMER_GROUP, topics);
    } catch (cause) {
      throw new ProblemError('unavailable', 'Kafka does not answer at the moment.', {
        headers: { 'retry-after': '2' },
        cause,
      });
    } finally {
      await admin.disconnect().catch(() => undefined);
    }
  }
}

/** Reads stores that may be down. Logs each missing answer once, and again only after the store has recovered. */
export class AnswersInTime {
  readonly #away = new Set<string>();

  constructor(
    private readonly log: Pick<Log, 'info' | 'warn'>,
    private readonly patienceMs: number,
  ) {}

  /**
   * Returns the answer, or undefined if the store fails or does not answer in time.
   * @param figures name of the requested figures, for the log
   */
  async orAway<T>(figures: string, ask: () => Promise<T>): Promise<T | undefined> {
    try {
      const late = (): Error => new Error(`no answer in ${this.patienceMs} ms`);
      const answer = await answeredWithin(this.patienceMs, ask(), late);
      if (this.#away.delete(figures))
        this.log.info('now.complete', 'A store answers again what it did not tell', { figures });
      return answer;
    } catch (error) {
      if (!this.#away.has(figures))
        this.log.warn('now.incomplete', 'A store does not answer: GET /now lacks its figures, and alerts are unknown', {
          figures,
          reason: reasonOf(error),
        });
      this.#away.add(figures);
      return undefined;
    }
  }
}

/**
 * Shares one pending or finished answer between all callers for `freshMs`. A failed answer is not shared with later callers.
 */
export class SharedAnswer<T> {
  #last: { readonly at: number; readonly answer: Promise<T> } | undefined;

  /** @param now monotonic clock in milliseconds */
  constructor(
    private readonly ask: () => Promise<T>,
    private readonly freshMs: number,
    private readonly now: () => number,
  ) {}

  read(): Promise<T> {
    const now = this.now();
    if (this.#last !== undefined && now - this.#last.at < this.freshMs) return this.#last.answer;
    const last = { at: now, answer: this.ask() };
    this.#last = last;
    last.answer.catch(() => {
      if (this.#last === last) this.#last = undefined;
    });
    return last.answer;
  }
}
