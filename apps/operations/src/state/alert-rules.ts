import { DEAD_LETTERS_QUEUE, DELIVERIES_QUEUE, type QueueState } from '@relay/jobs';
import type { RedisMemory } from '@relay/metrics';

const DAY_S = 86_400;
const MINUTE_S = 60;

/** Values read from Redis and Kafka. A member is undefined if its store could not be read. */
export interface Readings {
  readonly queues?: readonly QueueState[] | undefined;
  /** Consumer lag, summed over all topics. */
  readonly lag?: number | undefined;
  readonly memory?: RedisMemory | undefined;
}

/** One alert rule. A spec checks that these rules match `charts/partner-relay/files/alerts.yaml`. */
interface AlertRule {
  readonly name: string;
  readonly severity: 'critical' | 'warning' | 'info';
  readonly forS: number;
  readonly means: string;
  /**
   * Set for rules that need nothing but `Readings`. The rule is true while the value is above the limit. An undefined value
   * means that the store could not be read.
   */
  readonly evaluated?: {
    readonly expr: string;
    readonly limit: number;
    valueOf(readings: Readings): number | undefined;
  };
}

const oldestOf =
  (queue: string, states: readonly string[]) =>
  ({ queues }: Readings): number | undefined =>
    queues
      ?.filter((each) => each.queue === queue && states.includes(each.state))
      .reduce((most, { oldestS = 0 }) => Math.max(most, oldestS), 0);

/** Returns the used share of memory. If Redis has no memory limit, the share is 0, and the alert never fires. */
const shareOf = ({ memory }: Readings): number | undefined =>
  memory === undefined ? undefined : memory.max > 0 ? memory.used / memory.max : 0;

/**
 * All rules, in the order of the file. Rules without `evaluated` need metrics, or a history of metrics, that this app lacks.
 */
export const ALERT_RULES: readonly AlertRule[] = [
  {
    name: 'RelayConsumerStopped',
    severity: 'critical',
    forS: 2 * MINUTE_S,
    means: 'Nothing is read and nothing is delivered. What is accepted waits in Kafka, seven days at most.',
  },
  {
    name: 'RelayWorkerNotReady',
    severity: 'warning',
    forS: 10 * MINUTE_S,
    means: 'Partitions may stand still although others are read; what waits in them is kept seven days at most.',
  },
  {
    name: 'RelayReadingPaused',
    severity: 'critical',
    forS: 5 * MINUTE_S,
    means: 'Redis or the queue is filled too far. What is accepted waits in Kafka, seven days at most.',
  },
  {
    name: 'RelayNotAccepting',
    severity: 'critical',
    forS: 2 * MINUTE_S,
    means: 'Sources and partners are not served.',
  },
  {
    name: 'RelayConsumerLag',
    severity: 'warning',
    forS: 10 * MINUTE_S,
    means: 'The workers do not keep up, or one partition stands still.',
    evaluated: {
      expr: 'sum(max by (topic) (relay_kafka_consumer_lag)) > 10000',
      limit: 10_000,
      valueOf: ({ lag }) => lag,
    },
  },
  {
    name: 'RelayRetriesOverdue',
    severity: 'warning',
    forS: 5 * MINUTE_S,
    means: 'Due deliveries are not taken up. The workers are full, stopped, or the queue is paused.',
    evaluated: {
      expr: 'max(relay_queue_oldest_job_age_seconds{queue="deliveries",state=~"delayed|waiting"}) > 120',
      limit: 120,
      valueOf: oldestOf(DELIVERIES_QUEUE, ['delayed', 'waiting']),
    },
  },
  {
    name: 'RelayDeadLettersGrowing',
    severity: 'warning',
    forS: 5 * MINUTE_S,
    means: 'They are kept 30 days and delivered again only when somebody replays them.',
  },
  {
    name: 'RelayDeadLettersExpiring',
    severity: 'warning',
    forS: 10 * MINUTE_S,
    means: 'A dead letter is kept 30 days.',
    evaluated: {
      expr: 'max(relay_queue_oldest_job_age_seconds{queue="dead-letters",state="waiting"}) > 27 * 86400',
      limit: 27 * DAY_S,
      valueOf: oldestOf(DEAD_LETTERS_QUEUE, ['waiting']),
    },
  },
  {
    name: 'RelayDeliveriesExpiring',
    severity: 'warning',
    forS: 0,
    means: 'A topic keeps seven days. What waits in it longer, for a parked webhook or because nobody reads, is gone.',
  },
  {
    name: 'RelayWebhooksDisabled',
    severity: 'warning',
    forS: 0,
    means: 'Its deliveries wait in the log, seven days at most.',
  },
  {
    name: 'RelayRedisMemory',
    severity: 'critical',
    forS: 5 * MINUTE_S,
    means: 'At 70 % the workers stop reading; what is accepted then waits in Kafka.',
    evaluated: {
      expr: 'max(relay_redis_memory_used_bytes) / (max(relay_redis_memory_max_bytes) > 0) > 0.6',
      limit: 0.6,
      valueOf: shareOf,
    },
  },
  {
    name: 'RelayRedisDisk',
    severity: 'critical',
    forS: MINUTE_S,
    means: 'A disk that is full ends Redis at its next write. What is accepted waits in Kafka, seven days at most.',
  },
  {
    name: 'RelayConditionBroken',
    severity: 'critical',
    forS: MINUTE_S,
    means: 'Envelopes or deliveries can be lost until it is mended. The doctor names the setting and its fix.',
  },
  {
    name: 'RelayKeysMissing',
    severity: 'critical',
    forS: 2 * MINUTE_S,
    means:
      'Deliveries whose credential only this key opens wait, for 96 hours at most. Clients of the key are answered 503.',
  },
  {
    name: 'RelayShardAway',
    severity: 'critical',
    forS: 2 * MINUTE_S,
    means:
      'Its envelopes wait in Kafka, seven days at most, and its retries stand still. The other shards are delivered.',
  },
  {
    name: 'RelayShardLost',
    severity: 'critical',
    forS: MINUTE_S,
    means: 'Its envelopes wait in Kafka, seven days at most, until it is recovered. The other shards are delivered.',
  },
  {
    name: 'RelayClusterNotOk',
    severity: 'critical',
    forS: MINUTE_S,
    means: 'Nodes refuse commands. What is accepted waits in Kafka, seven days at most.',
  },
  {
    name: 'RelayShardsUneven',
    severity: 'warning',
    forS: 60 * MINUTE_S,
    means: 'It is the first node to be full, and then no worker reads.',
  },
  {
    name: 'RelayPublishErrors',
    severity: 'critical',
    forS: 5 * MINUTE_S,
    means: 'Kafka does not acknowledge. Sources repeat by themselves, if they do as the API says.',
  },
  { name: 'RelaySlowPublishing', severity: 'warning', forS: 10 * MINUTE_S, means: 'Sources wait as long.' },
  {
    name: 'RelayRequestsFailing',
    severity: 'warning',
    forS: 5 * MINUTE_S,
    means: 'Redis or Kafka does not answer, or the relay has a fault of its own.',
  },
  {
    name: 'RelayDeliveriesFailing',
    severity: 'warning',
    forS: 15 * MINUTE_S,
    means: 'One partner with much traffic, or the way out of the cluster.',
  },
  {
    name: 'RelayClockOff',
    severity: 'warning',
    forS: 2 * MINUTE_S,
    means:
      'A worker that is 30 s off Redis takes no work. The clock of the host is wrong, or, where all hosts are off, that of Redis.',
  },
  { name: 'RelayKeyOld', severity: 'info', forS: 0, means: 'Rotate it.' },
];

/** Milliseconds between two readings after which it is unknown whether a rule was true the whole time. */
const MAX_GAP_MS = 90_000;

interface AlertState {
  readonly rule: AlertRule;
  readonly state: 'firing' | 'pending' | 'quiet' | 'unknown';
  /** Set if the rule could be evaluated. */
  readonly value?: number;
  /** Epoch milliseconds at which the rule became true. */
  readonly since?: number;
}

/**
 * Evaluates rules as Prometheus does: a rule fires if every reading during its `for` made it true. Readings from before the
 * start of this process are unknown, so a rule may fire later here than in Prometheus, but never earlier.
 */
export class AlertWatch {
  readonly #trueSince = new Map<string, number>();
  #last: { readonly at: number; readonly readings: Readings } | undefined;

  constructor(private readonly rules: readonly AlertRule[]) {}

  /** @param at epoch milliseconds */
  feed(readings: Readings, at: number): void {
    if (this.#last !== undefined && at - this.#last.at > MAX_GAP_MS) this.#trueSince.clear();
    this.#last = { at, readings };
    for (const { name, evaluated } of this.rules) {
      const value = evaluated?.valueOf(readings);
      if (evaluated === undefined || value === undefined || value <= evaluated.limit) this.#trueSince.delete(name);
      else if (!this.#trueSince.has(name)) this.#trueSince.set(name, at);
    }
  }

  /** Returns the states of all rules after the latest reading. */
  states(): AlertState[] {
    const last = this.#last;
    return this.rules.map((rule): AlertState => {
      const value = last === undefined ? undefined : rule.evaluated?.valueOf(last.readings);
      if (last === undefined || value === undefined) return { rule, state: 'unknown' };
      const since = this.#trueSince.get(rule.name);
      if (since === undefined) return { rule, state: 'quiet', value };
      return { rule, state: last.at - since >= rule.forS * 1_000 ? 'firing' : 'pending', value, since };
    });
  }
}
