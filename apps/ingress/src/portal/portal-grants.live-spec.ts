import { randomBytes, randomUUID } from 'node:crypto';
import { PortalLinks, type PortalGrant } from '@relay/access';
import type { OperatorRole } from '@relay/identity';
import { oneShard } from '@relay/redis';
import { Replays } from '@relay/replays';
import { z } from 'zod';
import { FEATURES } from '../ingress.module.js';
import { startWebhooks, type Answer, type Partner, type Webhooks } from '../webhooks/spec-webhooks.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';

let relay: Webhooks;
let partner: Partner;
const ids: string[] = [];
beforeAll(async () => {
  relay = await startWebhooks(
    {},
    FEATURES.filter((module) => module !== WebhooksModule),
  );
  partner = await relay.aPartner();
  for (const host of ['a', 'b', 'c']) {
    const body = { eventType: 'task.created', endPointUrl: `https://${host}.example.com/`, apiKey: 'key-1' };
    const { json } = await relay.ask('POST', '/webhooks', { token: partner.token, body });
    ids.push(z.object({ id: z.string() }).parse(json).id);
  }
});
afterAll(() => relay?.stop());

/** The answer to the code of a link with this grant. */
async function trade(grant: PortalGrant, partnerId = partner.clientId): Promise<Answer> {
  const links = new PortalLinks(relay.redis, randomBytes, 60_000);
  const code = await links.create({ partnerId, grant, ttlS: 900 });
  return relay.ask('POST', '/portal/tokens', { body: { code } });
}
const tokenFor = async (grant: PortalGrant, partnerId?: string): Promise<string> =>
  z.object({ token: z.string() }).parse((await trade(grant, partnerId)).json).token;
const statusOf = async (token: string): Promise<number> =>
  (await relay.ask('GET', '/webhooks/status', { token })).status;
const madeBy = async (name: string, role: OperatorRole): Promise<NonNullable<PortalGrant['operator']>> => {
  const { clientId } = await relay.spec.clients.createOperator(name, role);
  return { clientId, generation: 0 };
};
/** What ends every token that somebody got with the secret so far. */
const ENDS: [string, (clientId: string) => Promise<unknown>][] = [
  ['disabled', (clientId) => relay.spec.clients.disable(clientId)],
  [
    'disabled and enabled',
    (clientId) => relay.spec.clients.disable(clientId).then(() => relay.spec.clients.enable(clientId)),
  ],
  ['given another secret', (clientId) => relay.spec.clients.rotateSecret(clientId, { endsTokens: true, force: true })],
];

describe('the link of an operator', () => {
  it.each([
    ['read', 'operator', 'viewer'],
    ['write', 'admin', 'operator'],
  ] as const)('to %s ends when its %s becomes a %s', async (access, role, lesser) => {
    const operator = await madeBy('falls', role);
    await relay.spec.clients.createOperator('stays', 'admin');
    const token = await tokenFor({ access, operator });
    expect(await statusOf(token)).toBe(200);
    await relay.spec.clients.changeRole(operator.clientId, lesser);
    await relay.refreshClients();
    expect([await statusOf(token), (await trade({ access, operator })).status]).toEqual([401, 404]);
    const { clientId, clientSecret } = await relay.spec.clients.createOperator('asks', 'operator');
    const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
    const form = { authorization, 'content-type': 'application/x-www-form-urlencoded' };
    const introspected = await relay.ask('POST', '/auth/introspect', { headers: form, body: `token=${token}` });
    expect(introspected.json).toEqual({ active: false });
  });

  it.each(ENDS)('ends when its operator is %s', async (_, end) => {
    const operator = await madeBy('leaves', 'operator');
    const token = await tokenFor({ access: 'read', operator });
    await end(operator.clientId);
    await relay.refreshClients();
    expect([await statusOf(token), (await trade({ access: 'read', operator })).status]).toEqual([401, 404]);
  });

  it('is named with a secret that a repeated rotation answers', async () => {
    const operator = await madeBy('rotates', 'admin');
    const token = await tokenFor({ access: 'write', operator });
    const path = `/webhooks/${ids[0] ?? ''}/secret/rotate`;
    const rotated = await relay.ask('POST', path, { token: partner.token });
    expect((await relay.ask('POST', path, { token })).json).toEqual(rotated.json);
    expect(relay.spec.told().at(-1)).toMatchObject({
      event: 'secret.read',
      operator: operator.clientId,
      partnerId: partner.clientId,
      webhookId: ids[0],
    });
  });
});

it.each(ENDS)('a link that nobody has opened ends when its partner is %s', async (_, end) => {
  const { clientId, token } = await relay.aPartner('leaks');
  const { url } = z.object({ url: z.string() }).parse((await relay.ask('POST', '/portal/links', { token })).json);
  await end(clientId);
  await relay.refreshClients();
  const code = new URLSearchParams(new URL(url).hash.slice(1)).get('code');
  expect((await relay.ask('POST', '/portal/tokens', { body: { code } })).status).toBe(404);
});

it('ends when its partner revokes it', async () => {
  const { clientId, clientSecret } = await relay.spec.clients.createPartner('revokes');
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
  const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded' };
  const token = await tokenFor({ access: 'read' }, clientId);
  expect(await statusOf(token)).toBe(200);
  expect((await relay.ask('POST', '/auth/revoke', { headers, body: `token=${token}` })).status).toBe(200);
  expect(await statusOf(token)).toBe(401);
});

describe('a link to some webhooks', () => {
  it('lists these, whichever come before them, and leads on', async () => {
    const [, second, third] = ids;
    const token = await tokenFor({ access: 'read', webhookIds: [third ?? '', second ?? '', randomUUID()] });
    const shown: unknown[] = [];
    for (let path: string | undefined = '/webhooks/status?limit=1'; path !== undefined;) {
      const { json, headers } = await relay.ask('GET', path, { token });
      shown.push(...z.object({ webhooks: z.array(z.looseObject({ id: z.string() })) }).parse(json).webhooks);
      path = /<([^>]+)>; rel="next"/.exec(String(headers['link']))?.[1];
    }
    expect(shown).toMatchObject([{ id: second }, { id: third }]);
    const others = await relay.ask('GET', '/webhooks/status?eventType=plan.created', { token });
    expect(others.json).toEqual({ webhooks: [] });
  });

  it('says nothing of another one where an address is taken', async () => {
    const [first = '', second = ''] = ids;
    const token = await tokenFor({ access: 'write', webhookIds: [second] });
    const body = { endPointUrl: 'https://a.example.com/' };
    const { status, text } = await relay.ask('PATCH', `/webhooks/${second}`, { token, body });
    expect([status, text.includes(first)]).toEqual([409, false]);
  });

  it('lists nothing of another partner', async () => {
    const other = await relay.aPartner('other');
    const token = await tokenFor({ access: 'read', webhookIds: ids }, other.clientId);
    for (const path of ['/webhooks/status', '/replays'])
      expect(Object.values((await relay.ask('GET', path, { token })).json as object)).toEqual([[]]);
  });

  it('lists their replays, whichever came after them', async () => {
    const replays = new Replays(relay.redis, oneShard(relay.redis));
    const made: string[] = [];
    for (const webhookId of ids) {
      const of = { webhookId, partnerId: partner.clientId, eventType: 'task.created', status: 'all' as const };
      const order = { id: randomUUID(), ...of, since: undefined, until: undefined, orderedBy: 'partner' as const };
      const ranges = [{ topic: 'task.created', partition: 0, from: 0, end: 9 }];
      await replays.create(order, ranges, Date.now() + made.length);
      made.push(order.id);
    }
    const token = await tokenFor({ access: 'read', webhookIds: ids.slice(0, 2) });
    const listed = async (limit: number): Promise<unknown> =>
      (await relay.ask('GET', `/replays?limit=${limit}`, { token })).json;
    expect(await listed(1)).toMatchObject({ replays: [{ id: made[1] }] });
    expect(await listed(20)).toMatchObject({ replays: [{ id: made[1] }, { id: made[0] }] });
  });
});
