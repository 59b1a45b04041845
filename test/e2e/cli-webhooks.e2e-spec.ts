import { randomUUID } from 'node:crypto';
import { anEnvelope, type Client } from '../support/client.js';
import { CommandLine } from '../support/command-line.js';
import { Relay } from '../support/relay.js';
import { TopicContract } from '../support/topic-contract.js';
import { until } from '../support/until.js';

let relay: Relay;
let cli: CommandLine;
let source: Client;
/** Who changed something, as `relay.operations` has it. */
let asked: object;
beforeAll(async () => {
  relay = await Relay.start({ RETRY_SCHEDULE: '3s,3s,3s,3s' });
  const env = await relay.stack.commandEnv();
  cli = new CommandLine(env);
  asked = { operator: env['OPERATOR_CLIENT_ID'], requestId: expect.any(String) };
  source = await relay.source();
});
afterAll(() => relay.close());

const eventType = 'plan.updated';
const register = (partner: Client, path: string): Promise<string> =>
  partner.register({ eventType, endPointUrl: relay.receiver.url(path), apiKey: 'key' });
const send = async (): Promise<string> => {
  const envelope = anEnvelope({ type: eventType });
  expect((await source.post(envelope)).status).toBe(202);
  return envelope.id;
};
const idsAt = (path: string) => relay.receiver.at(path).map(({ headers }) => headers['webhook-id']);
const arrives = (path: string, id: string): Promise<unknown> =>
  until(`it arrives at ${path}`, () => idsAt(path).includes(id), { seen: () => relay.worker.log.slice(-5) });
/** What `relay.operations` tells of a webhook after its registration, without times. */
const told = async (webhookId: string) => {
  const topic = relay.stack.topic('relay.operations');
  const records = await topic.read();
  expect((await TopicContract.read(relay.ingress.url)).faults(topic.name, records)).toEqual([]);
  return records
    .map(({ value }) => JSON.parse(value.toString()) as Record<string, unknown>)
    .filter((record) => record['webhookId'] === webhookId && record['event'] !== 'webhook.registered')
    .map(({ at: _at, ...facts }) => facts);
};

describe('relay webhooks', () => {
  it('lists those of all partners or of one, by status, without what may be a key in their address', async () => {
    const [acme, beta] = [await relay.partner('acme'), await relay.partner('beta')];
    const [one, two] = [await register(acme, '/list/one?key=hidden'), await register(beta, '/list/two')];
    const active = {
      id: one,
      partnerId: acme.clientId,
      eventType,
      origin: new URL(relay.receiver.url('/')).origin,
      status: 'active',
      disabledReason: null,
      createdAt: expect.any(String),
    };
    expect(await cli.json(['webhooks', 'list', '--partner', acme.clientId])).toEqual([active]);
    expect(await cli.json(['webhooks', 'disable', two.toUpperCase()])).toMatchObject({ disabled: [two] });
    const disabled = { ...active, id: two, partnerId: beta.clientId, status: 'disabled', disabledReason: 'operator' };
    expect(await cli.json(['webhooks', 'list', '--status', 'disabled'])).toEqual([disabled]);
    expect(await cli.json(['webhooks', 'list'])).toEqual([active, disabled]);
    const { out } = await cli.run(['webhooks', 'list']);
    expect(out).toMatch(/ {2}active\n.* {2}disabled \(operator\)\n2 webhooks\n$/);
    expect(out).not.toContain('hidden');
    await cli.json(['webhooks', 'delete', one, two, '--yes']);
  });

  it('disables those of a partner: nothing is sent to them until an operator enables them, and others get theirs', async () => {
    const [acme, beta] = [await relay.partner('acme'), await relay.partner('beta')];
    const [one, two] = [await register(acme, '/disable/one'), await register(acme, '/disable/two')];
    await register(beta, '/disable/other');
    const first = await send();
    await Promise.all(['one', 'two', 'other'].map((path) => arrives(`/disable/${path}`, first)));

    expect(await cli.run(['partners', 'disable', beta.clientId])).toMatchObject({
      code: 0,
      err: expect.stringContaining(`relay webhooks disable --partner ${beta.clientId}`),
    });
    const report = await cli.json(['webhooks', 'disable', '--partner', acme.clientId]);
    expect(report).toEqual({ disabled: [one, two], alreadyDisabled: [], missing: [] });
    expect((await acme.request('GET', `/webhooks/${one}`)).json).toMatchObject({
      status: 'disabled',
      disabledReason: 'operator',
    });
    const facts = { webhookId: one, partnerId: acme.clientId, eventType };
    const disabled = { event: 'webhook.disabled', ...asked, ...facts, reason: 'operator' };
    expect(await told(one)).toEqual([disabled]);
    expect(await cli.json(['webhooks', 'disable', one])).toMatchObject({ disabled: [], alreadyDisabled: [one] });
    expect(await told(one)).toEqual([disabled]);

    const second = await send();
    // Its partner is disabled, and its webhook still gets deliveries, as the command said.
    await arrives('/disable/other', second);
    await until('it waits in the log', () => relay.stack.isParked(one));
    expect([...idsAt('/disable/one'), ...idsAt('/disable/two')]).toEqual([first, first]);
    expect((await acme.request('POST', `/webhooks/${one}/enable`)).status).toBe(409);
    expect(await cli.json(['webhooks', 'enable', one])).toEqual({ enabled: [one], alreadyEnabled: [], missing: [] });
    await arrives('/disable/one', second);
    expect((await told(one)).at(-1)).toEqual({
      event: 'webhook.enabled',
      ...asked,
      ...facts,
      disabledReason: 'operator',
    });
    expect(idsAt('/disable/two')).toEqual([first]);
  });

  it('deletes one for good: what waits for it ends as cancelled', async () => {
    const partner = await relay.partner();
    relay.receiver.plan('/delete', { status: 500 });
    const id = await register(partner, '/delete');
    const envelopeId = await send();
    await arrives('/delete', envelopeId);
    expect(await cli.run(['webhooks', 'delete', id, '--yes'])).toMatchObject({
      code: 0,
      out: `deleted ${id}\n1 webhook deleted\n`,
      err: '',
    });
    expect((await partner.request('GET', `/webhooks/${id}`)).status).toBe(404);
    const facts = { webhookId: id, partnerId: partner.clientId, eventType };
    expect(await told(id)).toEqual([{ event: 'webhook.deleted', ...asked, ...facts }]);
    interface Story {
      readonly deliveries: readonly { readonly webhookId: string; readonly state: string }[];
    }
    const stateOf = async (): Promise<string | undefined> =>
      (await cli.json<Story>(['deliveries', 'get', envelopeId])).deliveries.find(({ webhookId }) => webhookId === id)
        ?.state;
    await until('its delivery is cancelled', async () => (await stateOf()) === 'cancelled', { seen: stateOf });
  });

  it('says that an id is no webhook and that a partner is none, and changes nothing that it cannot tell', async () => {
    const unknown = randomUUID();
    for (const args of [
      ['disable', unknown],
      ['delete', unknown, '--yes'],
    ])
      expect(await cli.run(['webhooks', ...args])).toMatchObject({
        code: 1,
        out: expect.stringContaining(`not found ${unknown}: \`relay webhooks list\` shows the existing ones\n`),
      });
    expect(await cli.run(['webhooks', 'disable', '--partner', 'nobody'])).toMatchObject({
      code: 1,
      err: 'error: There is no partner nobody: `relay partners list` shows the existing ones.\n',
    });
    const partner = await relay.partner();
    const id = await register(partner, '/untold');
    await relay.stack.dropTopics(relay.stack.topic('relay.operations').name);
    try {
      for (const args of [
        ['disable', id],
        ['delete', id, '--yes'],
      ])
        expect(await cli.run(['webhooks', ...args])).toMatchObject({
          code: 1,
          err: expect.stringContaining('nothing was changed'),
        });
    } finally {
      await relay.stack.relay('topics', 'create');
    }
    expect((await partner.request('GET', `/webhooks/${id}`)).json).toMatchObject({ status: 'active' });
  });
});
