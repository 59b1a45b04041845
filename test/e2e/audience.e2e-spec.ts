import { App } from '../support/app.js';
import { anEnvelope, Client } from '../support/client.js';
import { Relay } from '../support/relay.js';
import { until } from '../support/until.js';

const NAMES = ['acme', 'bolt', 'core'] as const;
type Name = (typeof NAMES)[number];

let relay: Relay;
let partners: Record<Name, Client>;
let free: Client;
let bound: Client;
beforeAll(async () => {
  relay = await Relay.start({ KAFKA_TOPIC_PARTITIONS: '1' });
  const created = await Promise.all(NAMES.map((name) => relay.partner(name)));
  partners = Object.fromEntries(NAMES.map((name, n) => [name, created[n]])) as Record<Name, Client>;
  for (const name of NAMES)
    await partners[name].register({
      eventType: 'task.updated',
      endPointUrl: relay.receiver.url(`/${name}`),
      apiKey: 'k',
    });
  free = await relay.source('free');
  // An origin that never answered 2xx gets one attempt at a time: until then a later envelope may overtake an earlier one.
  const first = anEnvelope({ type: 'task.updated' });
  await free.post(first);
  await until('everybody has an envelope', () =>
    NAMES.every((name) => relay.receiver.ids(`/${name}`).includes(first.id)),
  );
  bound = await relay.source('bound', '--partner', partners.acme.clientId, '--partner', partners.bolt.clientId);
});
afterAll(() => relay.close());

const idsOf = (...names: Name[]) => names.map((name) => partners[name].clientId);

/** Who of all gets an envelope. One for everybody follows: the log has one partition, so what was to come has come then. */
async function receivers(source: Client, header?: string): Promise<Name[]> {
  const [envelope, last] = [anEnvelope({ type: 'task.updated' }), anEnvelope({ type: 'task.updated' })];
  const answer = await source.post(envelope, header === undefined ? {} : { 'relay-partner': header });
  expect([answer.status, answer.text]).toEqual([202, expect.any(String)]);
  await free.post(last);
  const got = (name: Name, id: string) => relay.receiver.ids(`/${name}`).filter((other) => other === id).length;
  await until('the last one is with everybody', () => NAMES.every((name) => got(name, last.id) === 1));
  return NAMES.flatMap((name) => Array.from({ length: got(name, envelope.id) }, () => name));
}

describe('an envelope', () => {
  it('without an audience goes to everybody with a matching webhook', async () => {
    expect(await receivers(free)).toEqual(NAMES);
  });

  it.each<[string, Name[]]>([
    ['one partner', ['bolt']],
    ['two partners', ['core', 'acme']],
  ])('goes to %s only if its relay-partner names no others, and its record names them', async (_, names) => {
    const header = idsOf(...names).join(' , ');
    expect(await receivers(free, header)).toEqual(names.toSorted());
    const records = await relay.stack.topic('task.updated').read();
    const named = records.map(({ headers }) => headers['relay-partner']);
    expect(named.findLast((value) => value !== undefined)).toBe(
      idsOf(...names)
        .toSorted()
        .join(','),
    );
  });

  it('for a partner that does not exist is refused, and accepted once the partner is named right', async () => {
    const envelope = anEnvelope({ type: 'task.updated' });
    expect(await free.post(envelope, { 'relay-partner': 'nobody' })).toMatchObject({ status: 400 });
    expect(await free.post(envelope, { 'relay-partner': idsOf('core').join() })).toMatchObject({ status: 202 });
  });

  it('goes to the partners of its source only, if the source is bound', async () => {
    expect(await receivers(bound)).toEqual(['acme', 'bolt']);
  });

  it('goes to the one partner of its bound source that it names', async () => {
    expect(await receivers(bound, idsOf('bolt').join())).toEqual(['bolt']);
  });

  it.each<[string, Name[]]>([
    ['another partner', ['core']],
    ['another partner beside its own', ['acme', 'core']],
  ])('is refused and not published if its source is bound and it names %s', async (_, names) => {
    const before = await relay.stack.topic('task.updated').count();
    const answer = await bound.post(anEnvelope({ type: 'task.updated' }), { 'relay-partner': idsOf(...names).join() });
    expect([answer.status, answer.json['type']]).toEqual([400, expect.stringMatching(/#invalid-request$/)]);
    expect(await relay.stack.topic('task.updated').count()).toBe(before);
  });

  it('is refused with 403 if its source may not send its type, until the source is bound to it', async () => {
    const create = ['sources', 'create', 'of types', '--types', 'order.*, tax_return.filed'];
    const made = (await relay.stack.relay(...create)) as Client;
    const orders = new Client(relay.ingress.url, made.clientId, made.clientSecret);
    const send = () => orders.post(anEnvelope({ type: 'task.updated' }));
    expect(await send()).toMatchObject({
      status: 403,
      json: {
        detail: 'This source may not send "task.updated": it may send order.*, tax_return.filed.',
        errors: [{ pointer: '/type' }],
      },
    });
    expect(await orders.post(anEnvelope({ type: 'tax_return.filed' }))).toMatchObject({ status: 202 });
    const types = async (): Promise<unknown> => {
      const listed = (await relay.stack.relay('sources', 'list')) as { clientId: string; types: string[] }[];
      return listed.find(({ clientId }) => clientId === made.clientId)?.types;
    };
    expect(await types()).toEqual(['order.*', 'tax_return.filed']);
    await expect(relay.stack.relay('sources', 'bind', made.clientId)).rejects.toThrow(/--types, or --all/);
    await relay.stack.relay('sources', 'bind', made.clientId, '--types', 'task.*');
    expect(await types()).toEqual(['task.*']);
    await until('it is bound to tasks', async () => (await send()).status === 202);
  });

  it('is refused without an audience if REQUIRE_AUDIENCE is set', async () => {
    const strict = await App.start('ingress', { ...relay.stack.env, REQUIRE_AUDIENCE: 'true' });
    const [unbound, limited] = [free, bound].map(
      (client) => new Client(strict.url, client.clientId, client.clientSecret),
    );
    const envelope = anEnvelope({ type: 'task.updated' });
    expect(await unbound?.post(envelope)).toMatchObject({ status: 400 });
    expect(await unbound?.post(envelope, { 'relay-partner': idsOf('core').join() })).toMatchObject({ status: 202 });
    expect(await limited?.post(anEnvelope({ type: 'task.updated' }))).toMatchObject({ status: 202 });
    await strict.stop();
  });
});
