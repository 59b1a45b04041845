import { setTimeout as delay } from 'node:timers/promises';
import {
  deadLettersTopic,
  deliveryAttemptsTopic,
  dlqOf,
  envelopeTopics,
  noticesTopic,
  operationsTopic,
  registryTopic,
} from '@relay/events';
import { hasCode } from './kafka-errors.adapter.js';
import type { Kafka, KafkaAdmin } from './kafka.port.js';
import { withAdmin } from './kept-admin.adapter.js';

/** Names are those of docs/configuration.md. */
export interface TopicSettings {
  KAFKA_TOPIC_PREFIX: string;
  KAFKA_TOPIC_PARTITIONS: number;
  KAFKA_TOPIC_REPLICATION: number;
}

interface TopicPlan {
  readonly topic: string;
  readonly partitions: number;
  readonly replication: number;
  /** Broker settings of the topic, by name. */
  readonly config: Readonly<Record<string, string>>;
}

/** An existing topic; `replication` is that of its least replicated partition. */
export type TopicFound = Omit<TopicPlan, 'config'>;
export type TopicConfigFound = Pick<TopicPlan, 'topic' | 'config'>;

const DAY_MS = 24 * 60 * 60 * 1000;
const FOR_EVER = -1;
/** Set for created topics only, not checked of existing ones: another value loses nothing, it keeps records for longer. */
const SEGMENT = 'segment.ms';
/** Kafka's own default. It has room for an envelope of 900 KiB, the highest value that MAX_ENVELOPE_BYTES may have. */
const MAX_BATCH_BYTES = 1_048_588;
const LIMIT = 'max.message.bytes';
/**
 * A dead letter fits into this size even if its envelope has 900 KiB, the highest value that MAX_ENVELOPE_BYTES may have.
 */
const MAX_LETTER_BYTES = 2_097_152;
/**
 * The relay's largest batch by default: 512 KiB of records, or one dead letter with an envelope of 256 KiB. A topic's
 * `max.message.bytes` limits the whole batch.
 */
const NEEDED_BATCH_BYTES = 576 * 1_024;
/** Bytes of a record beside its envelope: key, headers, the facts of a dead letter. */
const BESIDE_ENVELOPE_BYTES = 64 * 1_024;
/** Retention of the event types' topics. */
export const LOG_RETENTION_MS = 7 * DAY_MS;

export function planTopics(settings: TopicSettings): TopicPlan[] {
  const { KAFKA_TOPIC_PREFIX: prefix, KAFKA_TOPIC_PARTITIONS: partitions } = settings;
  const plan = planner(settings);
  return [
    ...envelopeTopics(prefix).flatMap((topic) => planEnvelopes(topic, settings)),
    plan(deliveryAttemptsTopic(prefix), partitions, 8 * DAY_MS),
    withRoom(plan(deadLettersTopic(prefix), 1, 30 * DAY_MS), MAX_LETTER_BYTES),
    plan(registryTopic(prefix), 1, FOR_EVER),
    plan(operationsTopic(prefix), 1, 30 * DAY_MS),
  ];
}

const planner =
  ({ KAFKA_TOPIC_REPLICATION: replication }: TopicSettings) =>
  (topic: string, partitions: number, retentionMs: number): TopicPlan => ({
    topic,
    partitions,
    replication,
    config: configOf(replication, retentionMs),
  });

const withRoom = (plan: TopicPlan, bytes: number): TopicPlan => ({
  ...plan,
  config: { ...plan.config, [LIMIT]: String(bytes) },
});

/** Plans a topic of envelopes and the topic for its poison records. */
export function planEnvelopes(topic: string, settings: TopicSettings): TopicPlan[] {
  const { KAFKA_TOPIC_PREFIX: prefix, KAFKA_TOPIC_PARTITIONS: partitions } = settings;
  const plan = planner(settings);
  return [
    // Notices are few, and each further partition costs an owner and requests to Kafka.
    plan(topic, topic === noticesTopic(prefix) ? 1 : partitions, LOG_RETENTION_MS),
    plan(dlqOf(topic), 1, 30 * DAY_MS),
  ];
}

/** The command of Kafka that creates a topic. */
export const createCommand = ({ topic, partitions, replication, config }: TopicPlan): string =>
  [
    `kafka-topics.sh --create --topic ${topic} --partitions ${partitions} --replication-factor ${replication}`,
    ...Object.entries(config).map(([name, value]) => `--config ${name}=${value}`),
  ].join(' ');

// With acks=all an acknowledged record is on two brokers, and no broker that lacks it may become leader. The broker's
// clock dates records: if senders date them, a broker refuses those of a sender whose clock is an hour ahead
// (message.timestamp.after.max.ms).
// Another producer may compress with a codec that the driver cannot read (snappy, lz4, zstd). Brokers store all records
// uncompressed; otherwise such a record stops every worker. No limit in bytes is set, because it drops records before their time.
// Kafka deletes a segment once its newest record is too old. A record may therefore be kept for the time of a segment longer:
// seven days with Kafka's default, one day here. Registry records that a snapshot replaces are kept longer in the same way.
const configOf = (replication: number, retentionMs: number): Record<string, string> => ({
  'cleanup.policy': 'delete',
  'compression.type': 'uncompressed',
  [LIMIT]: String(MAX_BATCH_BYTES),
  'message.timestamp.type': 'LogAppendTime',
  'min.insync.replicas': replication === 1 ? '1' : '2',
  'retention.bytes': '-1',
  'retention.ms': String(retentionMs),
  [SEGMENT]: String(DAY_MS),
  'unclean.leader.election.enable': 'false',
});

/** The faults of the found topics, one sentence each with its fix; more partitions than planned are no fault. */
export function topicFaults(plans: readonly TopicPlan[], found: readonly TopicFound[]): string[] {
  const byName = new Map(found.map((topic) => [topic.topic, topic]));
  return plans.flatMap((plan) => {
    const topic = byName.get(plan.topic);
    if (topic === undefined) return [`The topic ${plan.topic} is missing: run \`relay topics create\`.`];
    const faults: string[] = [];
    if (topic.partitions < plan.partitions) {
      faults.push(
        `The topic ${plan.topic} has ${topic.partitions} of ${plan.partitions} partitions: add them with \`kafka-topics.sh --alter --topic ${plan.topic} --partitions ${plan.partitions}\` (keys then move to other partitions), or lower KAFKA_TOPIC_PARTITIONS.`,
      );
    }
    if (topic.replication < plan.replication) {
      faults.push(
        `The topic ${plan.topic} has ${topic.replication} of ${plan.replication} replicas: add them with \`kafka-reassign-partitions.sh\`, or lower KAFKA_TOPIC_REPLICATION.`,
      );
    }
    return faults;
  });
}

/** Notes that need no action: the registry uses the first partition of its topic, and Kafka cannot remove partitions. */
export function topicNotes({ KAFKA_TOPIC_PREFIX: prefix }: TopicSettings, found: readonly TopicFound[]): string[] {
  const topic = registryTopic(prefix);
  const partitions = found.find((each) => each.topic === topic)?.partitions ?? 1;
  return partitions === 1
    ? []
    : [
        `The topic ${topic} has ${partitions} partitions, of which the relay writes and reads the first alone, so nothing is lost: leave them, and exempt this topic from the tool that added them.`,
      ];
}

/**
 * One sentence, with its fix, for each topic whose settings lose records or make them unreadable. A setting that keeps more is no
 * fault.
 */
export function configFaults(plans: readonly TopicPlan[], found: readonly TopicConfigFound[]): string[] {
  const byName = new Map(found.map(({ topic, config }) => [topic, config]));
  return plans.flatMap(({ topic, config: planned }) => {
    const config = byName.get(topic);
    if (config === undefined) return [];
    const wrong = Object.entries(planned).filter(([name, value]) => !suffices(name, config[name], value));
    if (wrong.length === 0) return [];
    const shown = (values: Readonly<Record<string, string>>): string =>
      wrong.map(([name]) => `${name}=${values[name] ?? ''}`).join(',');
    return [
      `The topic ${topic} has ${shown(config)}: run \`kafka-configs.sh --alter --entity-type topics --entity-name ${topic} --add-config ${shown(planned)}\`.`,
    ];
  });
}

/**
 * One sentence, with its fix, for each topic that refuses some records with an envelope of these bytes: the topics of envelopes, and
 * that of dead letters. A topic without a limit of its own has that of the broker (`message.max.bytes`).
 */
export function roomFaults(prefix: string, found: readonly TopicConfigFound[], envelopeBytes: number): string[] {
  const letters = deadLettersTopic(prefix);
  const topics = new Set(envelopeTopics(prefix)).add(letters);
  topics.delete(noticesTopic(prefix));
  return found.flatMap(({ topic, config }) => {
    // A dead letter has its envelope as a JSON text, in which each byte may become two.
    const needed = (topic === letters ? 2 * envelopeBytes : envelopeBytes) + BESIDE_ENVELOPE_BYTES;
    if (!topics.has(topic) || Number(config[LIMIT]) >= needed) return [];
    return [
      `The topic ${topic} has ${LIMIT}=${config[LIMIT]}, and MAX_ENVELOPE_BYTES=${envelopeBytes} needs ${needed}: run \`kafka-configs.sh --alter --entity-type topics --entity-name ${topic} --add-config ${LIMIT}=${topic === letters ? MAX_LETTER_BYTES : MAX_BATCH_BYTES}\`, or lower MAX_ENVELOPE_BYTES.`,
    ];
  });
}

/** A number may be greater than planned; -1, without limit, is greater than any. */
function suffices(name: string, found: string | undefined, planned: string): boolean {
  if (name === SEGMENT) return true;
  if (name === LIMIT) return Number(found) >= NEEDED_BATCH_BYTES;
  if (!AT_LEAST.has(name)) return found === planned;
  const endless = (value: string | undefined): number => (value === '-1' ? Infinity : Number(value));
  return endless(found) >= endless(planned);
}

const AT_LEAST: ReadonlySet<string> = new Set(['min.insync.replicas', 'retention.bytes', 'retention.ms']);

const CREATE_TIMEOUT_MS = 30_000;
/** Kafka's number for a topic among the resources that have settings. */
const TOPIC = 2;

/**
 * Creates the missing topics in one request; existing topics stay as they are.
 * @returns the names of the created topics
 * @throws the broker's error, such as too few brokers for KAFKA_TOPIC_REPLICATION
 */
export async function createTopics(
  kafka: Kafka,
  settings: TopicSettings,
  planned: readonly TopicPlan[] = planTopics(settings),
): Promise<string[]> {
  return withAdmin(kafka, async (admin) => {
    const existing = new Set(await admin.listTopics());
    const plans = planned.filter((plan) => !existing.has(plan.topic));
    if (plans.length === 0) return [];
    // The answer is not needed: it is false if another process has created some of the topics meanwhile.
    await admin.createTopics({ topics: plans.map(requestOf), timeout: CREATE_TIMEOUT_MS, waitForLeaders: false });
    const made = plans.map((plan) => plan.topic);
    await untilLed(admin, made);
    return made;
  });
}

/** The faults of the topics and of their settings in words, each with its fix. Rejects when no broker answers. */
export async function checkTopics(kafka: Kafka, settings: TopicSettings): Promise<string[]> {
  return withAdmin(kafka, async (admin) => {
    const plans = planTopics(settings);
    const found = await findTopics(admin, settings);
    // The client may lack the right to read them; then the worker logs `condition.unread`.
    const configs = await readTopicConfigs(admin, settings).catch(() => []);
    return [...topicFaults(plans, found), ...configFaults(plans, configs)];
  });
}

/** The faults that `roomFaults` finds. Rejects when no broker answers, or as `readTopicConfigs`. */
export const checkRoom = (kafka: Kafka, settings: TopicSettings, envelopeBytes: number): Promise<string[]> =>
  withAdmin(kafka, async (admin) =>
    roomFaults(settings.KAFKA_TOPIC_PREFIX, await readTopicConfigs(admin, settings), envelopeBytes),
  );

/** The existing topics of the relay. Rejects when no broker answers. */
export async function findTopics(admin: KafkaAdmin, settings: TopicSettings): Promise<TopicFound[]> {
  const existing = new Set(await admin.listTopics());
  // The driver rejects the whole request when one of its topics does not exist; an empty list means all topics.
  const asked = planTopics(settings).flatMap(({ topic }) => (existing.has(topic) ? [topic] : []));
  const { topics } = asked.length === 0 ? { topics: [] } : await admin.fetchTopicMetadata({ topics: asked });
  return topics.map(({ name, partitions }): TopicFound => {
    const replication = Math.min(...partitions.map((partition) => partition.replicas.length));
    return { topic: name, partitions: partitions.length, replication };
  });
}

/**
 * The settings of the existing topics. Rejects when no broker answers, or when this client may not read settings
 * (DescribeConfigs), a right that the roles do not need.
 */
export async function readTopicConfigs(admin: KafkaAdmin, settings: TopicSettings): Promise<TopicConfigFound[]> {
  const existing = new Set(await admin.listTopics());
  const asked = planTopics(settings).filter(({ topic }) => existing.has(topic));
  if (asked.length === 0) return [];
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: asked.map(({ topic: name, config }) => ({ type: TOPIC, name, configNames: Object.keys(config) })),
  });
  return resources.map(({ resourceName, configEntries }) => ({
    topic: resourceName,
    config: Object.fromEntries(configEntries.map(({ configName, configValue }) => [configName, configValue])),
  }));
}

/**
 * Waits until every topic has its leaders. The wait of the driver fails when the broker that it asks does not know a topic
 * yet, which is usual under KRaft right after the controller has created it.
 */
async function untilLed(admin: KafkaAdmin, topics: string[]): Promise<void> {
  for (const deadline = performance.now() + CREATE_TIMEOUT_MS; ;) {
    try {
      await admin.fetchTopicMetadata({ topics });
      return;
    } catch (error) {
      const isEarly = hasCode(error, 'UNKNOWN_TOPIC_OR_PARTITION', 'LEADER_NOT_AVAILABLE');
      if (!isEarly || performance.now() > deadline) throw error;
      await delay(100);
    }
  }
}

const requestOf = (plan: TopicPlan) => ({
  topic: plan.topic,
  numPartitions: plan.partitions,
  replicationFactor: plan.replication,
  configEntries: Object.entries(plan.config).map(([name, value]) => ({ name, value })),
});
