import {
  EVENT_TYPES,
  collidingTopics,
  deadLettersTopic,
  deliveryAttemptsTopic,
  dlqOf,
  eventTypeOfTopic,
  operationsTopic,
  registryTopic,
  topicOf,
  topicsOf,
} from './index.js';

describe('topics', () => {
  it('are named as the type after the prefix', () => {
    expect(topicOf('', 'tax_return.filed')).toBe('tax_return.filed');
    expect(topicOf('eu.', 'task.created')).toBe('eu.task.created');
    expect(dlqOf(topicOf('eu.', 'task.created'))).toBe('eu.task.created.dlq');
    expect(
      [deliveryAttemptsTopic, deadLettersTopic, registryTopic, operationsTopic].map((name) => name('eu.')),
    ).toEqual(['eu.relay.delivery-attempts', 'eu.relay.dead-letters', 'eu.relay.registry', 'eu.relay.operations']);
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

  it.each(['', 'eu.', 'a_b.', 'relay.'])('are 32 names under prefix %j that stay apart in Kafka metrics', (prefix) => {
    const topics = topicsOf(prefix);
    expect(new Set(topics).size).toBe(32);
    expect(collidingTopics(topics)).toEqual([]);
    expect(topics.filter((topic) => !/^[\w.-]{1,249}$/.test(topic))).toEqual([]);
  });

  it('are told in pairs where they collide', () => {
    expect(collidingTopics(['tax_return.filed', 'a', 'tax.return.filed', 'tax.return_filed'])).toEqual([
      ['tax_return.filed', 'tax.return.filed'],
      ['tax_return.filed', 'tax.return_filed'],
    ]);
  });
});
