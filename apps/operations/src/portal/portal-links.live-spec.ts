import { basicOf, RunningOperations } from '../spec-operations.js';

const operations = await RunningOperations.ofSpec();

describe('a link to the portal by an operator', () => {
  let partnerId: string;
  beforeAll(async () => {
    partnerId = String((await json('/clients', { kind: 'partner', name: 'acme' }))['clientId']);
  });
  const json = async (path: string, body: unknown): Promise<Record<string, unknown>> =>
    (await (await operations.call('POST', path, body)).json()) as Record<string, unknown>;

  it('is told on relay.operations before it is made, without its code', async () => {
    const webhookIds = ['3f2b1c0d-9e8f-4a7b-8c6d-5e4f3a2b1c0d'];
    const { url } = await json('/portal/links', { partnerId, access: 'write', webhookIds, next: '/deliveries' });
    const [, code = ''] = /#code=([\w-]{43})&next=%2Fdeliveries$/.exec(String(url)) ?? [];
    expect(code).not.toBe('');
    expect(operations.told().at(-1)).toMatchObject({
      event: 'portal.opened',
      partnerId,
      access: 'write',
      operator: operations.operator.clientId,
      webhookIds,
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

  it.each([
    ['viewer', 403, 403],
    ['operator', 201, 403],
    ['admin', 201, 201],
  ] as const)('by a %s is answered %i to look, and %i to change something', async (role, ...statuses) => {
    const headers = { authorization: basicOf(await operations.clients.createOperator(role, role)) };
    const answers: number[] = [];
    for (const access of ['read', 'write'])
      answers.push((await operations.call('POST', '/portal/links', { partnerId, access }, headers)).status);
    expect(answers).toEqual(statuses);
  });
});
