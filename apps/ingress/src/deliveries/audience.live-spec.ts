import { randomUUID } from 'node:crypto';
import { AccessTokens } from '@relay/access';
import { EVENT_TYPES } from '@relay/events';
import { ClientDirectory } from '@relay/identity';
import { Publisher } from '@relay/publishing';
import type { MemoryPublisher } from '@relay/testing';
import { ErrorsModule } from '../documents/documents.module.js';
import { appOfSpec } from '../http/spec-app.js';
import { DeliveriesModule } from './deliveries.module.js';

let apiKey: string;
let boundKey: string;
let partners: string[];

const sourceKey = async (name: string, audience: string[], types: string[] = []): Promise<string> => {
  const source = await spec.clients.createSource(name, { credential: 'apiKey', audience, types });
  if (!('apiKey' in source)) throw new Error('no API key');
  return source.apiKey;
};

const spec = await appOfSpec([ErrorsModule, DeliveriesModule]);
const log = spec.app.get<Publisher, MemoryPublisher>(Publisher);
beforeAll(async () => {
  for (const type of EVENT_TYPES) log.createTopic(type);
  apiKey = await sourceKey('platform', []);
  const made = [await spec.clients.createPartner('one'), await spec.clients.createPartner('two')];
  partners = made.map(({ clientId }) => clientId).toSorted();
  boundKey = await sourceKey('bound', partners);
});

interface Answer {
  status: number;
  json: unknown;
}

async function post(path: string, body: string, headers: Record<string, string> = {}): Promise<Answer> {
  const proof: Record<string, string> = 'authorization' in headers ? {} : { 'x-api-key': apiKey };
  const all = { 'content-type': 'application/json', ...proof, ...headers };
  const response = await fetch(spec.url + path, { method: 'POST', headers: all, body });
  return { status: response.status, json: await response.json() };
}

const anEnvelope = (id: string = randomUUID()): string => `{"id":"${id}","type":"plan.updated","payload":{"n":1.10}}`;
const stored = (id: string) => log.read('plan.updated').filter((record) => record.headers['ce_id'] === id);

describe('the audience of an envelope', () => {
  it.each([
    ['an unbound', false, () => partners.toReversed().join(', '), () => partners.join(',')],
    ['a bound', true, () => undefined, () => partners.join(',')],
    ['a bound', true, () => partners[1], () => partners[1]],
    ['an unbound', false, () => undefined, () => undefined],
  ])('addresses what %s source sends to those named and those bound to, %#', async (_, isBound, header, audience) => {
    const id = randomUUID();
    const named = header();
    const headers = { ...(isBound ? { 'x-api-key': boundKey } : {}), ...(named ? { 'relay-partner': named } : {}) };
    expect(await post('/deliveries', anEnvelope(id), headers)).toMatchObject({ status: 202 });
    expect(stored(id)[0]?.headers['relay-partner']).toBe(audience());
  });

  it.each(['', '/batch'])(
    'refuses an audience that does not exist, and accepts the corrected repeat: %s',
    async (path) => {
      const disabled = await spec.clients.createPartner('disabled');
      await spec.clients.disable(disabled.clientId);
      const { clientId: ofSource } = await spec.clients.createSource('no partner');
      const id = randomUUID();
      const send = (named: string): Promise<Answer> =>
        post(`/deliveries${path}`, path === '' ? anEnvelope(id) : `[${anEnvelope(id)}]`, { 'relay-partner': named });
      for (const named of ['partner_nobody', `${partners[0]},partner_nobody`, ofSource, 'operators'])
        expect(await send(named)).toMatchObject({
          status: 400,
          json: { detail: expect.stringContaining(named.split(',').at(-1) ?? '') },
        });
      expect(stored(id)).toEqual([]);
      expect((await send(disabled.clientId)).status).toBe(path === '' ? 202 : 200);
      expect(stored(id)).toHaveLength(1);
    },
  );

  it('refuses a partner outside the binding of the source', async () => {
    const headers = { 'x-api-key': boundKey, 'relay-partner': `${partners[0]},partner_3` };
    expect(await post('/deliveries', anEnvelope(), headers)).toMatchObject({ status: 400 });
  });
});

describe('the event types of a source', () => {
  const as = (type: string, id: string = randomUUID()): string => anEnvelope(id).replace('plan.updated', type);
  const refused = (type: string): string => `This source may not send "${type}": it may send plan.*, tax_return.filed.`;
  let headers: { 'x-api-key': string };
  beforeAll(async () => {
    headers = { 'x-api-key': await sourceKey('of types', [], ['plan.*', 'tax_return.filed']) };
  });

  it.each(['plan.updated', 'tax_return.filed'])('permit %s', async (type) => {
    expect(await post('/deliveries', as(type), headers)).toMatchObject({ status: 202 });
  });

  it.each(['message.created', 'order.paid', 'webhook.failing', 'task.created'])(
    'refuse %s before its own rules, whether it exists or not, and store nothing',
    async (type) => {
      const id = randomUUID();
      expect(await post('/deliveries', as(type, id), headers)).toMatchObject({
        status: 403,
        json: {
          type: expect.stringMatching(/#type-not-permitted$/),
          detail: refused(type),
          errors: [{ pointer: '/type', detail: refused(type) }],
        },
      });
      expect(await post('/deliveries', as('plan.updated', id), headers)).toMatchObject({ status: 202 });
    },
  );

  it('bind CloudEvents of both modes', async () => {
    const event = { specversion: '1.0', id: randomUUID(), source: '/core', type: 'message.created' };
    const structured = { ...headers, 'content-type': 'application/cloudevents+json' };
    expect(await post('/deliveries', JSON.stringify({ ...event, data: {} }), structured)).toMatchObject({
      status: 403,
      json: { errors: [{ pointer: '/type' }] },
    });
    const named = Object.entries(event).map(([name, value]) => [`ce-${name}`, value]);
    expect(await post('/deliveries', '{}', { ...headers, ...Object.fromEntries(named) })).toMatchObject({
      status: 403,
      json: { detail: `Header ce-type: ${refused('message.created')}` },
    });
  });

  it('make a refused envelope of a batch invalid, with its id, and accept its neighbours', async () => {
    const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()];
    const batch = [as('plan.created', first), as('message.created', second), as('plan.updated', third)];
    expect(await post('/deliveries/batch', `[${batch.join()}]`, headers)).toMatchObject({
      status: 200,
      json: {
        results: [
          { id: first, status: 'accepted' },
          { id: second, status: 'invalid', errors: [{ pointer: '/type', detail: refused('message.created') }] },
          { id: third, status: 'accepted' },
        ],
      },
    });
  });

  it('bind a token as they bind a key, and a change holds after the next refresh', async () => {
    const { clientId } = await spec.clients.createSource('changed', { types: ['plan.*'] });
    const directory = spec.app.get(ClientDirectory);
    const own = { authorization: `Bearer ${await spec.app.get(AccessTokens).issue(clientId, ['deliveries:write'])}` };
    expect(await post('/deliveries', as('message.created'), own)).toMatchObject({ status: 403 });
    await spec.clients.changeTypes(clientId, []);
    await directory.refresh();
    expect(await post('/deliveries', as('message.created'), own)).toMatchObject({ status: 202 });
  });
});
