import { randomUUID } from 'node:crypto';
import { EVENT_TYPES } from '@relay/events';
import { Publisher } from '@relay/publishing';
import type { MemoryPublisher } from '@relay/testing';
import { ErrorsModule } from '../documents/documents.module.js';
import { appOfSpec } from '../http/spec-app.js';
import { DeliveriesModule } from './deliveries.module.js';

let apiKey: string;
let boundKey: string;
let partners: string[];

const sourceKey = async (name: string, audience: string[]): Promise<string> => {
  const source = await spec.clients.createSource(name, { credential: 'apiKey', audience });
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
  const all = { 'content-type': 'application/json', 'x-api-key': apiKey, ...headers };
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
