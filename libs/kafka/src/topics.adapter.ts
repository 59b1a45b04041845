import { setTimeout as delay } from 'node:timers/promises';
import kafkajs, { type Admin, type Kafka } from 'kafkajs';
import {
  configFaults,
  planTopics,
  topicFaults,
  type TopicFound,
  type TopicPlan,
  type TopicSettings,
} from './topics.js';
import { withAdmin } from './with-admin.adapter.js';

const CREATE_TIMEOUT_MS = 30_000;
/** Not among the names that an ES module can import from kafkajs. */
const { TOPIC } = kafkajs.ConfigResourceTypes;
const NOT_YET: ReadonlySet<unknown> = new Set(['UNKNOWN_TOPIC_OR_PARTITION', 'LEADER_NOT_AVAILABLE']);

/**
 * Makes the topics that are missing, all in one request; those that are there stay as they are.
 * @returns the names of those made
 * @throws the broker's error, such as too few brokers for KAFKA_TOPIC_REPLICATION
 */
export async function createTopics(kafka: Kafka, settings: TopicSettings): Promise<string[]> {
  return withAdmin(kafka, async (admin) => {
    const existing = new Set(await admin.listTopics());
    const plans = planTopics(settings).filter((plan) => !existing.has(plan.topic));
    if (plans.length === 0) return [];
    // False when another process has made some of them meanwhile: then they are there too.
    await admin.createTopics({ topics: plans.map(requestOf), timeout: CREATE_TIMEOUT_MS, waitForLeaders: false });
    const made = plans.map((plan) => plan.topic);
    await untilLed(admin, made);
    return made;
  });
}

/** Every fault of the topics in words with its fix; none when all is well. Rejects when no broker answers. */
export async function checkTopics(kafka: Kafka, settings: TopicSettings): Promise<string[]> {
  return topicFaults(planTopics(settings), await findTopics(kafka, settings));
}

/** Of the relay's topics, those that are there. Rejects when no broker answers. */
export async function findTopics(kafka: Kafka, settings: TopicSettings): Promise<TopicFound[]> {
  return withAdmin(kafka, async (admin) => {
    const existing = new Set(await admin.listTopics());
    // kafkajs fails the whole question when one topic of it does not exist, and takes an empty list for all topics.
    const asked = planTopics(settings).flatMap(({ topic }) => (existing.has(topic) ? [topic] : []));
    const { topics } = asked.length === 0 ? { topics: [] } : await admin.fetchTopicMetadata({ topics: asked });
    return topics.map(({ name, partitions }): TopicFound => {
      const replication = Math.min(...partitions.map((partition) => partition.replicas.length));
      return { topic: name, partitions: partitions.length, replication };
    });
  });
}

/**
 * Every setting of a topic by which records would be lost, in words with its fix. Rejects when no broker answers, or this client
 * may not read them (DescribeConfigs), which the roles need not.
 */
export async function checkTopicConfigs(kafka: Kafka, settings: TopicSettings): Promise<string[]> {
  const plans = planTopics(settings);
  return withAdmin(kafka, async (admin) => {
    const existing = new Set(await admin.listTopics());
    const asked = plans.filter(({ topic }) => existing.has(topic));
    if (asked.length === 0) return [];
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: asked.map(({ topic: name, config }) => ({
        type: TOPIC,
        name,
        configNames: Object.keys(config),
      })),
    });
    return configFaults(
      plans,
      resources.map(({ resourceName, configEntries }) => ({
        topic: resourceName,
        config: Object.fromEntries(configEntries.map(({ configName, configValue }) => [configName, configValue])),
      })),
    );
  });
}

/**
 * Waits until every topic has its leaders. kafkajs 2.2.4 offers that itself but fails as soon as the broker it asks has not
 * heard of a topic yet, which under KRaft is usual right after the controller has made it.
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

/** After a few tries of its own kafkajs wraps the broker's answer. */
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
