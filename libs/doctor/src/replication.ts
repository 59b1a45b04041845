import type { TopicFound } from '@relay/kafka';
import { ok, warning, type Finding } from './finding.js';

/** Warns of topics with one replica: the loss of one broker’s disk would lose accepted envelopes. */
export function replicationFindings(topics: readonly TopicFound[], environment: string): Finding[] {
  // Another check reports missing topics.
  if (topics.length === 0) return [];
  const single = topics.filter(({ replication }) => replication < 2);
  const [first] = single;
  if (first === undefined) return [ok('replication', 'every topic has two replicas or more')];
  if (environment === 'development') return [ok('replication', 'one replica, as is usual with RELAY_ENV=development')];
  const found = warning(
    'replication',
    `${single.length} of ${topics.length} topics have one replica, such as ${first.topic}: a broker that loses its disk loses accepted envelopes`,
    'run three brokers, set KAFKA_TOPIC_REPLICATION=3 and add replicas to the topics with `kafka-reassign-partitions.sh`',
  );
  return [found];
}
