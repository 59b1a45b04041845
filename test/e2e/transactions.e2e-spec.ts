import { anEnvelope } from '../support/client.js';
import { partner, relay, startRelay } from '../support/shared-relay.js';
import { tally } from '../support/tally.js';
import { until } from '../support/until.js';

startRelay({ KAFKA_TOPIC_PARTITIONS: '1' });

/** Writes envelopes beside the relay, in a transaction, which a marker ends. */
async function write(type: string, count: number, ends: 'commit' | 'abort'): Promise<Set<string>> {
  const envelopes = Array.from({ length: count }, () => anEnvelope({ type }));
  const producer = relay.stack.kafka.producer({
    transactionalId: `spec-${relay.stack.env['KAFKA_TOPIC_PREFIX']}`,
    idempotent: true,
    maxInFlightRequests: 1,
  });
  await producer.connect();
  const transaction = await producer.transaction();
  const messages = envelopes.map((envelope) => ({ value: JSON.stringify(envelope), partition: 0 }));
  await transaction.send({ topic: relay.stack.topic(type).name, messages });
  await transaction[ends]();
  await producer.disconnect();
  return new Set(envelopes.map(({ id }) => id));
}

it.each([
  ['the marker of a transaction', 'plan.updated', 0],
  ['the records and the marker of an aborted one', 'plan.created', 3],
])('a replay ends where the partition ends in %s', async (_, type, aborted) => {
  const { receiver, stack } = relay;
  const path = `/${type}`;
  const webhook = await partner.register({ eventType: type, endPointUrl: receiver.url(path), apiKey: 'key' });
  const sent = await write(type, 10, 'commit');
  await until('all of it is delivered', () => tally(sent, receiver.delivered(path)).lost === 0);
  if (aborted > 0) await write(type, aborted, 'abort');
  // The coordinator answers before the partitions have its markers.
  await until('the log has the markers', async () => (await stack.topic(type).count()) > 10 + aborted);
  for (let time = 0; time < 2; time += 1) {
    const before = receiver.at(path).length;
    const ordered = await partner.request('POST', `/webhooks/${webhook}/replay`, {});
    expect(ordered.status).toBe(202);
    const read = async () => (await partner.request('GET', `/replays/${String(ordered.json['id'])}`)).json;
    await until('the replay has ended', async () => String((await read())['state']) === 'done', { seen: read });
    const again = receiver.delivered(path).slice(before);
    expect(tally(sent, again)).toMatchObject({ lost: 0, duplicates: 0 });
  }
});

it.each([
  ['behind records', 'task.updated', 3],
  ['where the log has nothing else', 'task.deleted', 0],
])('the committed offset passes aborted records %s', async (_, type, sent) => {
  const { stack } = relay;
  if (sent > 0) await write(type, sent, 'commit');
  await write(type, 5, 'abort');
  await until('the log has the markers', async () => (await stack.topic(type).count()) > sent + 5);
  await until('nothing of the topic lags', async () => (await stack.lag(type)) === 0, {
    seen: () => stack.lag(type),
  });
});
