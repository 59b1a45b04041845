import { anEnvelope } from '../support/client.js';
import { deadLettersIn } from '../support/dead-letters.js';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import { until } from '../support/until.js';

startRelay({ KAFKA_TOPIC_PARTITIONS: '1' });

beforeAll(async () => {
  const endPointUrl = relay.receiver.url('/hook');
  await partner.register({ eventType: 'task.created', endPointUrl, apiKey: 'key' });
  await partner.register({ eventType: 'plan.created', endPointUrl, apiKey: 'key' });
});

const { id } = anEnvelope();
const POISON: readonly (readonly [string, Buffer | string | null, RegExp])[] = [
  ['garbage', Buffer.from([0x00, 0xff, 0xfe, 0x7b, 0x80]), /./],
  ['an empty value', '', /./],
  ['a tombstone', null, /no value/],
  ['JSON that is no object', '[1,2]', /object/],
  ['an unknown type', JSON.stringify(anEnvelope({ type: 'task.exploded' })), /task\.exploded .*topic/],
  ['a type of another topic', JSON.stringify(anEnvelope({ type: 'plan.created' })), /plan\.created .*topic/],
  ['a task without a user', `{"id":"${id}","type":"task.created","payload":{"id":"${id}"}}`, /\/payload\/userId /],
  ['a name twice', `{"id":"${id}","id":"${id}","type":"plan.created","payload":{}}`, /./],
];

describe('a record that is no envelope', () => {
  it.each(POISON)(
    '(%s) goes to the dead letter topic with its bytes and its reason, and the next one is delivered',
    async (_, value, reason) => {
      const [topic, dlq] = [relay.stack.topic('task.created'), relay.stack.topic('task.created.dlq')];
      const offset = await topic.count();
      const before = await dlq.count();
      await topic.write({ key: 'whose', value, headers: { trace: 'kept?' } });
      const next = anEnvelope();
      const sentAt = performance.now();
      expect(await source.post(next)).toMatchObject({ status: 202 });
      const delivered = await until('the next one is delivered', () =>
        relay.receiver.at('/hook').find(({ headers }) => headers['webhook-id'] === next.id),
      );
      expect(delivered.at - sentAt).toBeLessThan(8_000);

      await until('it is put aside', async () => (await dlq.count()) === before + 1);
      const stored = (await dlq.read()).at(-1);
      expect(stored?.value).toEqual(Buffer.from(value ?? ''));
      expect(stored?.headers).toMatchObject({
        'relay-topic': topic.name,
        'relay-partition': '0',
        'relay-offset': String(offset),
        'relay-reason': expect.stringMatching(reason),
      });
    },
  );

  it('is delivered to nobody, and no other dead letter topic has it', async () => {
    const posted = await relay.stack.topic('task.created').count();
    expect(relay.receiver.at('/hook')).toHaveLength(posted - POISON.length);
    expect(await relay.stack.topic('plan.created.dlq').count()).toBe(0);
    expect(await deadLettersIn(relay.stack.shards)).toEqual([]);
  });
});

describe('a record whose relay-partner', () => {
  it.each([
    ['is empty', ''],
    ['names partners who do not exist', 'partner_nobody, partner_no_one'],
  ])('%s: it becomes a dead letter and goes to nobody', async (_, partners) => {
    const envelope = anEnvelope({ type: 'plan.created', payload: {} });
    const topic = relay.stack.topic('plan.created');
    await topic.write({ key: envelope.id, value: JSON.stringify(envelope), headers: { 'relay-partner': partners } });
    const list = ['dead-letters', 'list', '--reason', 'audience_unknown'];
    const letter = await until('it is a dead letter', async () => {
      const letters = (await relay.stack.relay(...list)) as { envelopeId: string }[];
      return letters.find(({ envelopeId }) => envelopeId === envelope.id);
    });
    expect(letter).toMatchObject({
      attempts: 0,
      lastFailure: partners !== '' ? 'no such partner: partner_no_one, partner_nobody' : 'relay-partner names nobody',
    });
    expect(relay.receiver.at('/hook').some(({ headers: got }) => got['webhook-id'] === envelope.id)).toBe(false);
  });
});
