import type { Admin, Kafka } from 'kafkajs';
import { planTopics, topicFaults, type TopicFound, type TopicPlan, type TopicSettings } from './topics.js';

const CREATE_TIMEOUT_MS = 30_000;

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
    await admin.createTopics({ topics: plans.map(requestOf), timeout: CREATE_TIMEOUT_MS, waitForLeaders: true });
    return plans.map((plan) => plan.topic);
  });
}

/** Every fault of the topics in words with its fix; none when all is well. Rejects when no broker answers. */
export async function checkTopics(kafka: Kafka, settings: TopicSettings): Promise<string[]> {
  const plans = planTopics(settings);
  return withAdmin(kafka, async (admin) => {
    const existing = new Set(await admin.listTopics());
    // kafkajs fails the whole question when one topic of it does not exist, and takes an empty list for all topics.
    const topics = plans.map((plan) => plan.topic).filter((topic) => existing.has(topic));
    const metadata = topics.length === 0 ? { topics: [] } : await admin.fetchTopicMetadata({ topics });
    return topicFaults(
      plans,
      metadata.topics.map(({ name, partitions }): TopicFound => {
        const replication = Math.min(...partitions.map((partition) => partition.replicas.length));
        return { topic: name, partitions: partitions.length, replication };
      }),
    );
  });
}

const requestOf = (plan: TopicPlan) => ({
  topic: plan.topic,
  numPartitions: plan.partitions,
  replicationFactor: plan.replication,
  configEntries: Object.entries(plan.config).map(([name, value]) => ({ name, value })),
});

async function withAdmin<T>(kafka: Kafka, work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}
