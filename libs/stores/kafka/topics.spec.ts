import { configFaults, planTopics, roomFaults, topicFaults, topicNotes } from './topics.adapter.js';

const settings = { KAFKA_TOPIC_PREFIX: 'x.', KAFKA_TOPIC_PARTITIONS: 6, KAFKA_TOPIC_REPLICATION: 3 };
const DAY_MS = 86_400_000;

describe('planTopics', () => {
  const plans = planTopics(settings);
  const planOf = (topic: string) => plans.find((plan) => plan.topic === topic);

  it('has 14 event topics and that of notices, each with a dead-letter topic, and four of the relay itself', () => {
    expect(new Set(plans.map((plan) => plan.topic)).size).toBe(34);
    expect(plans.every((plan) => plan.topic.startsWith('x.'))).toBe(true);
  });

  it.each([
    ['x.task.created', 6, 7 * DAY_MS],
    ['x.tax_return.filed', 6, 7 * DAY_MS],
    ['x.task.created.dlq', 1, 30 * DAY_MS],
    ['x.relay.notices', 1, 7 * DAY_MS],
    ['x.relay.notices.dlq', 1, 30 * DAY_MS],
    ['x.relay.delivery-attempts', 6, 8 * DAY_MS],
    ['x.relay.dead-letters', 1, 30 * DAY_MS],
    ['x.relay.registry', 1, -1],
    ['x.relay.operations', 1, 30 * DAY_MS],
  ])('gives %s %d partitions and keeps it for %d ms', (topic, partitions, retentionMs) => {
    expect(planOf(topic)).toMatchObject({
      partitions,
      replication: 3,
      config: { 'retention.ms': String(retentionMs), 'unclean.leader.election.enable': 'false' },
    });
  });

  it('keeps no record for more than a day longer because of newer ones in its segment', () => {
    const segments = plans.map(({ topic, config }) => [topic, config['segment.ms']]);
    expect(segments).toEqual(plans.map(({ topic }) => [topic, String(DAY_MS)]));
  });

  it('has the broker store records uncompressed, since kafkajs reads gzip only', () => {
    expect(new Set(plans.map((plan) => plan.config['compression.type']))).toEqual(new Set(['uncompressed']));
  });

  it.each([
    [1, '1'],
    [2, '2'],
    [3, '2'],
  ])('with replication %d asks for %s replicas in sync', (replication, inSync) => {
    const all = planTopics({ ...settings, KAFKA_TOPIC_REPLICATION: replication });
    expect(new Set(all.map((plan) => plan.config['min.insync.replicas']))).toEqual(new Set([inSync]));
  });
});

it('has the broker date every record, so that no record is refused because a clock is ahead', () => {
  const types = planTopics(settings).map((plan) => plan.config['message.timestamp.type']);
  expect(new Set(types)).toEqual(new Set(['LogAppendTime']));
});

it.each([
  [1, /^$/],
  [3, /^The topic x\.relay\.registry has 3 partitions, .* the first alone, .*: leave them/],
])('says of a registry with %d partitions what nobody need mend, and finds no fault', (partitions, note) => {
  const found = [{ topic: 'x.relay.registry', partitions, replication: 3 }];
  expect(topicNotes(settings, found).join()).toMatch(note);
  expect(topicFaults(planTopics(settings), found).join()).not.toContain('relay.registry');
});

describe('topicFaults', () => {
  const plans = planTopics(settings).filter((plan) => plan.topic === 'x.task.created');

  it.each([
    ['nothing', [{ topic: 'x.task.created', partitions: 6, replication: 3 }], []],
    ['nothing of more than planned', [{ topic: 'x.task.created', partitions: 12, replication: 4 }], []],
    ['a missing topic with the command', [], [/x\.task\.created is missing.*relay topics create/]],
    [
      'too few partitions and replicas with what to do',
      [{ topic: 'x.task.created', partitions: 3, replication: 1 }],
      [/3 of 6 partitions.*--partitions 6/, /1 of 3 replicas.*KAFKA_TOPIC_REPLICATION/],
    ],
  ])('names %s', (_, found, expected) => {
    const faults = topicFaults(plans, found);
    expect(faults).toHaveLength(expected.length);
    for (const [index, pattern] of expected.entries()) expect(faults[index]).toMatch(pattern);
  });
});

describe('configFaults', () => {
  const plans = planTopics(settings).filter(({ topic }) => topic === 'x.task.created' || topic === 'x.relay.registry');
  const found = (changes: Readonly<Record<string, Readonly<Record<string, string>>>>) =>
    plans.map(({ topic, config }) => ({ topic, config: { ...config, ...changes[topic] } }));
  const altering = (topic: string): string =>
    `run \`kafka-configs.sh --alter --entity-type topics --entity-name ${topic} --add-config `;

  it('finds no fault in topics as created, with longer retention, with more replicas, or missing', () => {
    const more = { 'retention.ms': String(30 * DAY_MS), 'min.insync.replicas': '3' };
    expect(configFaults(plans, found({}))).toEqual([]);
    expect(configFaults(plans, found({ 'x.task.created': more }))).toEqual([]);
    expect(configFaults(plans, found({ 'x.task.created': { 'retention.ms': '-1' } }))).toEqual([]);
    expect(configFaults(plans, found({ 'x.task.created': { 'segment.ms': String(7 * DAY_MS) } }))).toEqual([]);
    expect(configFaults(plans, found({ 'x.task.created': { 'max.message.bytes': '600000' } }))).toEqual([]);
    expect(configFaults(plans, [])).toEqual([]);
  });

  it.each([
    ['x.task.created', { 'retention.ms': '3600000' }, 'retention.ms=604800000'],
    ['x.relay.registry', { 'retention.ms': '604800000' }, 'retention.ms=-1'],
    ['x.task.created', { 'retention.bytes': '1000' }, 'retention.bytes=-1'],
    ['x.task.created', { 'cleanup.policy': 'compact' }, 'cleanup.policy=delete'],
    ['x.task.created', { 'max.message.bytes': '100000' }, 'max.message.bytes=1048588'],
    ['x.task.created', { 'unclean.leader.election.enable': 'true' }, 'unclean.leader.election.enable=false'],
    [
      'x.task.created',
      { 'compression.type': 'zstd', 'min.insync.replicas': '1' },
      'compression.type=uncompressed,min.insync.replicas=2',
    ],
  ])('for %s names %j with the command that mends it', (topic, changes, fix) => {
    const has = Object.entries(changes).map((pair) => pair.join('='));
    expect(configFaults(plans, found({ [topic]: changes }))).toEqual([
      `The topic ${topic} has ${has.join(',')}: ${altering(topic)}${fix}\`.`,
    ]);
  });
});

describe('roomFaults', () => {
  const plans = planTopics(settings);
  const found = (limits: Readonly<Record<string, string>>) =>
    plans.map(({ topic, config }) => ({
      topic,
      config: { ...config, ...(topic in limits ? { 'max.message.bytes': limits[topic] ?? '' } : {}) },
    }));

  it('finds room for the longest envelope in the topics as created', () => {
    expect(roomFaults('x.', found({}), 921_600)).toEqual([]);
  });

  it.each([
    ['x.task.created', '884735', '884736', '1048588'],
    ['x.relay.dead-letters', '1048588', '1703936', '2097152'],
  ])('names %s, its limit of %s and the setting that needs %s, with the command', (topic, limit, needed, fix) => {
    expect(roomFaults('x.', found({ [topic]: limit }), 819_200)).toEqual([
      `The topic ${topic} has max.message.bytes=${limit}, and MAX_ENVELOPE_BYTES=819200 needs ${needed}: run \`kafka-configs.sh --alter --entity-type topics --entity-name ${topic} --add-config max.message.bytes=${fix}\`, or lower MAX_ENVELOPE_BYTES.`,
    ]);
    expect(roomFaults('x.', found({ [topic]: needed }), 819_200)).toEqual([]);
  });

  it('asks no room of topics without envelopes of sources', () => {
    const without = ['x.relay.registry', 'x.relay.operations', 'x.relay.notices', 'x.task.created.dlq'];
    expect(roomFaults('x.', found(Object.fromEntries(without.map((topic) => [topic, '600000']))), 921_600)).toEqual([]);
  });
});
