import { randomUUID } from 'node:crypto';
import { App } from '../support/app.js';
import { anEnvelope, Client } from '../support/client.js';
import { deadLettersIn } from '../support/dead-letters.js';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import { until } from '../support/until.js';

const PATHS = ['/one', '/two'] as const;

let other: App;

startRelay({ KAFKA_TOPIC_PARTITIONS: '1' }, () => other.stop());

beforeAll(async () => {
  other = await App.start('ingress', relay.stack.env);
  for (const path of PATHS)
    await partner.register({ eventType: 'plan.created', endPointUrl: relay.receiver.url(path), apiKey: 'key' });
});

const topic = () => relay.stack.topic('plan.created');
const aPlan = (payload: object, id: string = randomUUID()) => anEnvelope({ id, type: 'plan.created', payload });

/** What a webhook got of an envelope. */
const bodies = (path: string, id: string): string[] =>
  relay.receiver
    .at(path)
    .filter(({ headers }) => headers['webhook-id'] === id)
    .map(({ body }) => body.toString());

/**
 * Waits until everything that is in the log by now was handed out: it has one partition, and this comes last. Where the
 * worker is late, an earlier envelope waits in the queue and arrives later than the last.
 */
async function passed(...ids: readonly string[]): Promise<void> {
  const last = aPlan({});
  await source.post(last);
  await until('the last envelope and these are delivered to both', () =>
    PATHS.every((path) => [...ids, last.id].every((id) => bodies(path, id).length > 0)),
  );
}

const conflicts = async (): Promise<string[]> => {
  const letters = (await deadLettersIn(relay.stack.shards)).filter(({ reason }) => reason === 'id_conflict');
  return (letters as { envelopeId: string }[]).map(({ envelopeId }) => envelopeId);
};

describe('an envelope that comes again', () => {
  it.each([
    ['with the same bytes', (text: string) => text],
    ['with other white space', (text: string) => ` ${text.replaceAll(',', ' ,\n')}`],
    [
      'with its members in another order',
      (text: string) => {
        const { id, type, payload } = JSON.parse(text) as Record<string, unknown>;
        return JSON.stringify({ payload, type, id });
      },
    ],
    [
      'with its id in capitals',
      (text: string) => text.replace(/"id":"[^"]+"/, (id) => id.toUpperCase().replace('ID', 'id')),
    ],
  ])('%s is a duplicate: one record, one delivery to each webhook, of the bytes that came first', async (_, repeat) => {
    const envelope = aPlan({ n: 1 });
    const [first, before] = [JSON.stringify(envelope), await topic().count()];
    const answers = [await source.post(first), await source.post(repeat(first)), await source.post(first)];
    expect(answers.map(({ status, json }) => [status, json['status'], json['id']])).toEqual([
      [202, 'accepted', envelope.id],
      [202, 'duplicate', envelope.id],
      [202, 'duplicate', envelope.id],
    ]);
    expect(await topic().count()).toBe(before + 1);
    await passed(envelope.id);
    for (const path of PATHS) expect(bodies(path, envelope.id)).toEqual([first]);
  });

  it('100 times in parallel is one record and one delivery to each webhook', async () => {
    const [envelope, before] = [aPlan({ n: 2 }), await topic().count()];
    const answers = await Promise.all(Array.from({ length: 100 }, () => source.post(envelope)));
    expect(answers.every(({ status }) => status === 202)).toBe(true);
    const statuses = answers.map(({ json }) => String(json['status'])).toSorted();
    expect(statuses).toEqual(['accepted', ...Array.from({ length: 99 }, () => 'duplicate')]);
    expect(await topic().count()).toBe(before + 1);
    await passed(envelope.id);
    for (const path of PATHS) expect(bodies(path, envelope.id)).toHaveLength(1);
  });

  it.each([
    ['another payload', { n: 2 }, () => ({})],
    ['a number written otherwise', '1.00', () => ({})],
    ['another audience', { n: 1 }, () => ({ 'relay-partner': partner.clientId })],
  ])('with %s is refused with 409, and the first one is delivered', async (_, change, headers) => {
    const { id } = aPlan({});
    const text = (payload: unknown) =>
      `{"id":"${id}","type":"plan.created","payload":${typeof payload === 'string' ? `{"n":${payload}}` : JSON.stringify(payload)}}`;
    const first = typeof change === 'string' ? text('1.0') : text({ n: 1 });
    const before = await topic().count();
    expect(await source.post(first)).toMatchObject({ status: 202 });
    const answer = await source.post(text(change), headers());
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      409,
      expect.stringContaining('application/problem+json'),
    ]);
    expect(answer.json).toMatchObject({ status: 409, type: expect.stringMatching(/#conflict$/) });
    expect(await topic().count()).toBe(before + 1);
    await passed(id);
    for (const path of PATHS) expect(bodies(path, id)).toEqual([first]);
  });

  it('with other content through another ingress at the same moment: the first in the log wins, the other is a dead letter', async () => {
    const twin = new Client(other.url, source.clientId, source.clientSecret);
    const raced: { id: string; statuses: number[] }[] = [];
    const wonByBoth = () => raced.filter(({ statuses }) => statuses.every((status) => status === 202));
    await until('both ingresses have accepted five times', async () => {
      const [one, two] = [aPlan({ by: 'one' }), aPlan({ by: 'two' })];
      const answers = await Promise.all([source.post(one), twin.post({ ...two, id: one.id })]);
      raced.push({ id: one.id, statuses: answers.map(({ status }) => status) });
      return wonByBoth().length >= 5;
    });
    expect(
      raced.filter(({ statuses }) => !statuses.includes(202) || statuses.some((s) => s !== 202 && s !== 409)),
    ).toEqual([]);
    await passed(...raced.map(({ id }) => id));
    const log = (await topic().read()).map(({ value }) => value.toString());
    const firstOf = (id: string) => log.filter((text) => text.includes(id)).slice(0, 1);
    for (const { id } of raced) for (const path of PATHS) expect(bodies(path, id)).toEqual(firstOf(id));
    const dead = await conflicts();
    expect(raced.map(({ id }) => id).filter((id) => dead.includes(id))).toEqual(wonByBoth().map(({ id }) => id));
  });

  it('with other content straight in the log: the first wins, the other is a dead letter, and reading goes on', async () => {
    const first = JSON.stringify(aPlan({ n: 1 }));
    const { id } = JSON.parse(first) as { id: string };
    await topic().write({ value: first }, { value: JSON.stringify(aPlan({ n: 2 }, id)) }, { value: first });
    await passed(id);
    for (const path of PATHS) expect(bodies(path, id)).toEqual([first]);
    const letters = (await deadLettersIn(relay.stack.shards)).filter(({ reason }) => reason === 'id_conflict');
    expect((letters as object[]).filter((letter) => JSON.stringify(letter).includes(id))).toEqual([
      expect.objectContaining({ envelopeId: id, eventType: 'plan.created', reason: 'id_conflict', attempts: 0 }),
    ]);
  });
});
