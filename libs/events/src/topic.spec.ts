import { EVENT_TYPES } from './event-type.js';
import {
  deadLettersTopic,
  deliveryAttemptsTopic,
  dlqOf,
  eventTypeOfTopic,
  operationsTopic,
  registryTopic,
  topicOf,
} from './topic.js';

const named = [deliveryAttemptsTopic, deadLettersTopic, registryTopic, operationsTopic];
const topicsOf = (prefix: string): string[] => {
  const topics = EVENT_TYPES.map((type) => topicOf(prefix, type));
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

  it.each(['', 'eu.', 'eu_', 'task.', 'task.created'])('lead back to their type under prefix %j', (prefix) => {
    expect(EVENT_TYPES.map((type) => eventTypeOfTopic(prefix, topicOf(prefix, type)))).toEqual(EVENT_TYPES);
    const others = topicsOf(prefix).slice(EVENT_TYPES.length);
    expect(others.map((topic) => eventTypeOfTopic(prefix, topic)).filter((type) => type !== undefined)).toEqual([]);
  });

  it.each([
    ['', 'eu.task.created'],
    ['eu.', 'task.created'],
    ['eu.', 'us.task.created'],
    ['eu.', 'eu.task'],
    ['', ''],
  ])('of prefix %j do not include %j', (prefix, topic) => {
    expect(eventTypeOfTopic(prefix, topic)).toBeUndefined();
  });

  it.each(['', 'eu.', 'a_b.', 'relay.'])('have 32 names under prefix %j that stay apart in Kafka metrics', (prefix) => {
    const topics = topicsOf(prefix);
    // Kafka writes `.` as `_` in its metrics; brokers refuse a second topic of the same name there.
    expect(new Set(topics.map((name) => name.replaceAll('.', '_'))).size).toBe(32);
    expect(topics.filter((topic) => !/^[\w.-]{1,249}$/.test(topic))).toEqual([]);
  });
});
