import { EVENT_TYPES, NOTICE_TYPES } from './event-type.js';
import {
  deadLettersTopic,
  deliveryAttemptsTopic,
  dlqOf,
  envelopeTopics,
  noticesTopic,
  operationsTopic,
  registryTopic,
  topicOf,
} from './topic.js';

const named = [deliveryAttemptsTopic, deadLettersTopic, registryTopic, operationsTopic];
const topicsOf = (prefix: string): string[] => {
  const topics = envelopeTopics(prefix);
  return [...topics, ...topics.map(dlqOf), ...named.map((name) => name(prefix))];
};

describe('topics', () => {
  it('are named as the type after the prefix', () => {
    expect(topicOf('', 'tax_return.filed')).toBe('tax_return.filed');
    expect(topicOf('eu.', 'task.created')).toBe('eu.task.created');
    expect(dlqOf(topicOf('eu.', 'task.created'))).toBe('eu.task.created.dlq');
    expect(named.map((name) => name('eu.'))).toEqual([
      'eu.relay.delivery-attempts',
      'eu.relay.dead-letters',
      'eu.relay.registry',
      'eu.relay.operations',
    ]);
  });

  it('include one for each event type of sources, and one for all notices', () => {
    expect(envelopeTopics('eu.')).toEqual([...EVENT_TYPES.map((type) => `eu.${type}`), 'eu.relay.notices']);
    expect(new Set(NOTICE_TYPES.map((type) => topicOf('eu.', type)))).toEqual(new Set([noticesTopic('eu.')]));
  });

  it.each(['', 'eu.', 'a_b.', 'relay.'])('have 34 names under prefix %j that stay apart in Kafka metrics', (prefix) => {
    const topics = topicsOf(prefix);
    // Kafka writes `.` as `_` in its metrics; brokers refuse a second topic of the same name there.
    expect(new Set(topics.map((name) => name.replaceAll('.', '_'))).size).toBe(34);
    expect(topics.filter((topic) => !/^[\w.-]{1,249}$/.test(topic))).toEqual([]);
  });
});
