import { startRedisServer, type RedisServer } from '@relay/testing';
import { basicOf, RunningOperations } from '../spec-operations.js';

describe('a link to the portal by an operator', () => {
  let server: RedisServer;
  let operations: RunningOperations;
  let partnerId: string;
  beforeAll(async () => {
    server = await startRedisServer();
    operations = await RunningOperations.start(server);
    partnerId = String((await json('/clients', { kind: 'partner', name: 'acme' }))['clientId']);
  });
  afterAll(async () => {
    await operations.close();
    await server.stop();
  });
  const json = async (path: string, body: unknown): Promise<Record<string, unknown>> =>
    (await (await operations.call('POST', path, body)).json()) as Record<string, unknown>;

  it('is told on relay.operations before it is made, without its code', async () => {
    const { url } = await json('/portal/links', { partnerId, access: 'write', next: '/deliveries' });
    const [, code = ''] = /#code=([\w-]{43})&next=%2Fdeliveries$/.exec(String(url)) ?? [];
    expect(code).not.toBe('');
    expect(operations.told().at(-1)).toMatchObject({
      event: 'portal.opened',
      partnerId,
      access: 'write',
      operator: operations.operator.clientId,
    });
    expect(JSON.stringify(operations.told())).not.toContain(code);
  });

  it.each([
    ['nobody', 'partner_gone', 404],
    ['an operator', () => operations.operator.clientId, 409],
  ])('is none for %s', async (_, id, status) => {
    const given = typeof id === 'string' ? id : id();
    expect((await operations.call('POST', '/portal/links', { partnerId: given })).status).toBe(status);
  });

  it('needs the role operator', async () => {
    const viewer = await json('/clients', { kind: 'operator', name: 'looks', role: 'viewer' });
    const authorization = basicOf({
      clientId: String(viewer['clientId']),
      clientSecret: String(viewer['clientSecret']),
    });
    expect((await operations.call('POST', '/portal/links', { partnerId }, { authorization })).status).toBe(403);
  });
});
