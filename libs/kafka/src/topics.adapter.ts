import { setTimeout as delay } from 'node:timers/promises';
import kafkajs, { type Admin, type Kafka } from 'kafkajs';
import {
  configFaults,
  planTopics,
  topicFaults,
  type TopicConfigFound,
  type TopicFound,
  type TopicPlan,
  type TopicSettings,
} from './topics.js';
import { withAdmin } from './with-admin.adapter.js';

const CREATE_TIMEOUT_MS = 30_000;
/** An ES module cannot import this name from kafkajs. */
const { TOPIC } = kafkajs.ConfigResourceTypes;
const NOT_YET: ReadonlySet<unknown> = new Set(['UNKNOWN_TOPIC_OR_PARTITION', 'LEADER_NOT_AVAILABLE']);

/**
 * Creates the missing topics in one request; existing topics stay as they are.
 * @returns the names of the created topics
 * @throws the broker's error, such as too few brokers for KAFKA_TOPIC_REPLICATION
 */
export async function createTopics(kafka: Kafka, settings: TopicSettings): Promise<string[]> {
  return withAdmin(kafka, async (admin) => {
    const existing = new Set(await admin.listTopics());
    const plans = planTopics(settings).filter((plan) => !existing.has(plan.topic));
    if (plans.length === 0) return [];
    // False when another process has created some of them meanwhile.
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
    // A client that may not read them: the worker says `condition.unread`.
    const configs = await readTopicConfigs(admin, settings).catch(() => []);
    return [...topicFaults(plans, found), ...configFaults(plans, configs)];
  });
}

/** The existing topics of the relay. Rejects when no broker answers. */
export async function findTopics(admin: Admin, settings: TopicSettings): Promise<TopicFound[]> {
  const existing = new Set(await admin.listTopics());
  // kafkajs rejects the whole request when one of its topics does not exist; an empty list means all topics.
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
export async function readTopicConfigs(admin: Admin, settings: TopicSettings): Promise<TopicConfigFound[]> {
  const existing = new Set(await admin.listTopics());
  const asked = planTopics(settings).filter(({ topic }) => existing.has(topic));
  if (asked.length === 0) return [];
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: asked.map(({ topic: name, config }) => ({
      type: TOPIC,
      name,
      configNames: Object.keys(config),
    })),
  });
  return resources.map(({ resourceName, configEntries }) => ({
    topic: resourceName,
    config: Object.fromEntries(configEntries.map(({ configName, configValue }) => [configName, configValue])),
  }));
}

/**
 * Waits until every topic has its leaders. The wait of kafkajs 2.2.4 fails when the broker that it asks does not know a topic
 * yet, which is usual under KRaft right after the controller has created it.
 */
async function untilLed(admin: Admin, topics: string[]): Promise<void> {
  for (const deadline = performance.now() + CREATE_TIMEOUT_MS; ;) {
    try {
      await admin.fetchTopicMetadata({ topics });
      return;
    } catch (error) {
      if (!isEarly(error) || performance.now() > deadline) throw error;
      await delay(100);
    }
  }
}

/** kafkajs wraps the broker's error after a few repeats of its own. */
function isEarly(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('type' in error && NOT_YET.has(error.type)) || isEarly(error.cause);
}

const requestOf = (plan: TopicPlan) => ({
  topic: plan.topic,
  numPartitions: plan.partitions,
  replicationFactor: plan.replication,
  configEntries: Object.entries(plan.config).map(([name, value]) => ({ name, value })),
});
