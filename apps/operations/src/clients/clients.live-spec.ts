import { ClientDirectory, type IssuedSecret } from '@relay/identity';
import { PublishFailed } from '@relay/publishing';
import { basicOf, RunningOperations } from '../spec-operations.js';

const operations = await RunningOperations.ofSpec();

describe('clients by HTTP', () => {
  const json = async (method: string, path: string, body?: unknown): Promise<Record<string, unknown>> =>
    (await (await operations.call(method, path, body)).json()) as Record<string, unknown>;
  const create = async (body: object): Promise<string> => String((await json('POST', '/clients', body))['clientId']);

  it('are created with a credential that is shown once, and told by their role, without it', async () => {
    const partner = await create({ kind: 'partner', name: 'acme' });
    const source = await json('POST', '/clients', {
      kind: 'source',
      name: 'billing',
      partners: [partner],
      credential: 'apiKey',
    });
    const viewer = (await json('POST', '/clients', { kind: 'operator', name: 'looks', role: 'viewer' })) as unknown;
    const list = await json('GET', '/clients');
    expect(list).toMatchObject({
      total: 4,
      clients: [
        { kind: 'operator', name: 'night', role: 'admin' },
        { kind: 'partner', clientId: partner, name: 'acme', role: null, disabled: false },
        { kind: 'source', clientId: source['clientId'], credentialType: 'apiKey', partners: [partner] },
        { kind: 'operator', name: 'looks', role: 'viewer', scopes: ['operations:read'] },
      ],
    });
    const secrets = [String(source['apiKey']), (viewer as IssuedSecret).clientSecret];
    for (const text of [JSON.stringify(list), JSON.stringify(operations.told())])
      for (const secret of secrets) expect(text).not.toContain(secret);
    expect(operations.told()).toEqual([
      expect.objectContaining({ event: 'client.created', clientId: partner, kind: 'partner', name: 'acme' }),
      expect.objectContaining({ event: 'client.created', kind: 'source', operator: operations.operator.clientId }),
      expect.objectContaining({ event: 'client.created', kind: 'operator', role: 'viewer' }),
    ]);
    expect(await json('GET', '/clients?kind=source&limit=1')).toMatchObject({
      total: 1,
      clients: [{ kind: 'source' }],
    });
  });

  it('are rotated, disabled and enabled, each told before', async () => {
    const id = await create({ kind: 'operator', name: 'day', role: 'viewer' });
    const asked = async ({ clientSecret }: { clientSecret: string }): Promise<number> => {
      await operations.app.get(ClientDirectory).refresh();
      const authorization = basicOf({ clientId: id, clientSecret });
      return (await operations.call('GET', '/queues', undefined, { authorization })).status;
    };
    const told = operations.told().length;
    const rotated = (await json('POST', `/clients/${id}/rotate`, { endsTokens: true })) as unknown as IssuedSecret;
    expect(await asked(rotated)).toBe(200);
    expect((await operations.call('POST', `/clients/${id}/rotate`)).status).toBe(409);
    expect(await asked(rotated)).toBe(200);
    expect(await json('POST', `/clients/${id}/disable`)).toMatchObject({ clientId: id, disabled: true });
    expect(await json('POST', `/clients/${id}/disable`)).toMatchObject({ disabled: true });
    expect(await asked(rotated)).toBe(401);
    expect(await json('POST', `/clients/${id}/enable`)).toMatchObject({ clientId: id, disabled: false });
    expect(await asked(rotated)).toBe(200);
    expect(
      operations
        .told()
        .slice(told)
        .map(({ event, clientId }) => [event, clientId]),
    ).toEqual([
      ['client.rotated', id],
      ['client.disabled', id],
      ['client.enabled', id],
    ]);
  });

  it('get another role, told before with the former one, and nothing is told where nothing changes', async () => {
    const id = await create({ kind: 'operator', name: 'grows', role: 'viewer' });
    const told = operations.told().length;
    expect(await json('PATCH', `/clients/${id}`, { role: 'admin' })).toMatchObject({ clientId: id, role: 'admin' });
    expect(await json('PATCH', `/clients/${id}`, { role: 'admin' })).toMatchObject({ role: 'admin' });
    expect(await json('PATCH', `/clients/${id}`, { role: 'operator' })).toMatchObject({ role: 'operator' });
    const by = { event: 'client.changed', operator: operations.operator.clientId, clientId: id, kind: 'operator' };
    expect(operations.told().slice(told)).toEqual([
      expect.objectContaining({ ...by, formerRole: 'viewer', role: 'admin', requestId: expect.any(String) }),
      expect.objectContaining({ ...by, formerRole: 'admin', role: 'operator' }),
    ]);
  });

  it('keep the role that makes one of them the last enabled admin, and tell so', async () => {
    const own = operations.operator.clientId;
    const off = await create({ kind: 'operator', name: 'off', role: 'admin' });
    await json('POST', `/clients/${off}/disable`);
    const told = operations.told().length;
    const answer = await operations.call('PATCH', `/clients/${own}`, { role: 'viewer' });
    expect([answer.status, await answer.json()]).toEqual([
      409,
      expect.objectContaining({ detail: `${own} is the last enabled admin: create or enable another one first.` }),
    ]);
    expect(operations.told()).toHaveLength(told);
    expect(await json('GET', '/session')).toMatchObject({ role: 'admin' });
  });

  it('stay as they are while Kafka does not take the record of a change', async () => {
    const id = await create({ kind: 'partner', name: 'kept' });
    const operator = await create({ kind: 'operator', name: 'kept too', role: 'operator' });
    const before = await json('GET', '/clients');
    operations.publisher.failure = new PublishFailed('unavailable', 'away');
    for (const [path, body] of [
      ['/clients', { kind: 'partner', name: 'untold' }],
      [`/clients/${id}/rotate`, {}],
      [`/clients/${id}/disable`, undefined],
    ] as const)
      expect([path, (await operations.call('POST', path, body)).status]).toEqual([path, 503]);
    expect((await operations.call('PATCH', `/clients/${operator}`, { role: 'viewer' })).status).toBe(503);
    operations.publisher.failure = undefined;
    expect(await json('GET', '/clients')).toEqual(before);
  });

  it.each([
    [{ kind: 'partner' }, '/name'],
    [{ kind: 'partner', name: ' ' }, '/name'],
    [{ kind: 'operator', name: 'x' }, '/role'],
    [{ kind: 'operator', name: 'x', role: 'root' }, '/role'],
    [{ kind: 'robot', name: 'x' }, '/kind'],
    [{ kind: 'source', name: 'x', partners: ['partner_none'] }, '/partners'],
    [{ kind: 'source', name: 'x', types: ['order.*', 'order*'] }, '/types/1'],
    [{ kind: 'partner', name: 'x', types: ['order.*'] }, '/types'],
  ])('names what is wrong with %j', async (body, pointer) => {
    const answer = await operations.call('POST', '/clients', body);
    expect([answer.status, await answer.json()]).toEqual([
      400,
      expect.objectContaining({ errors: [expect.objectContaining({ pointer })] }),
    ]);
  });

  it('are bound to event types, and bound to others, told with the former ones', async () => {
    const id = await create({ kind: 'source', name: 'orders', types: ['order.*', 'order.*', 'invoice.paid'] });
    const types = ['order.*', 'invoice.paid'];
    expect(await json('GET', `/clients/${id}`)).toMatchObject({ types });
    const told = operations.told().length;
    expect(await json('PATCH', `/clients/${id}`, { types: ['refund.*'] })).toMatchObject({ types: ['refund.*'] });
    expect(await json('PATCH', `/clients/${id}`, { types: ['refund.*'] })).toMatchObject({ types: ['refund.*'] });
    expect(await json('PATCH', `/clients/${id}`, { types: [] })).toMatchObject({ types: [] });
    const by = { event: 'client.changed', clientId: id, operator: operations.operator.clientId };
    expect(operations.told().slice(told)).toEqual([
      expect.objectContaining({ ...by, types: ['refund.*'], formerTypes: types }),
      expect.objectContaining({ ...by, types: [], formerTypes: ['refund.*'] }),
    ]);
    expect(operations.told()[told - 1]).toMatchObject({ event: 'client.created', clientId: id, types });
    for (const body of [{}, { types: [], role: 'viewer' }, { types: ['*'] }])
      expect([body, (await operations.call('PATCH', `/clients/${id}`, body)).status]).toEqual([body, 400]);
    const partner = await create({ kind: 'partner', name: 'no source' });
    expect(await json('PATCH', `/clients/${partner}`, { types: ['order.*'] })).toMatchObject({
      status: 409,
      detail: `${partner} is a partner, and only sources are bound to event types.`,
    });
  });

  it('answers 404 for an unknown id, and 409 for what cannot be', async () => {
    for (const what of ['rotate', 'disable', 'enable'])
      expect([what, (await operations.call('POST', `/clients/none/${what}`)).status]).toEqual([what, 404]);
    expect((await operations.call('PATCH', '/clients/none', { role: 'viewer' })).status).toBe(404);
    const fixed = await create({ kind: 'source', name: 'fixed', credential: 'apiKey' });
    expect((await operations.call('PATCH', `/clients/${fixed}`, { role: 'viewer' })).status).toBe(409);
    expect((await operations.call('PATCH', `/clients/${fixed}`, { role: 'root' })).status).toBe(400);
    expect((await operations.call('POST', `/clients/${fixed}/rotate`)).status).toBe(409);
    expect((await operations.call('POST', `/clients/${operations.operator.clientId}/disable`)).status).toBe(409);
    expect((await operations.call('GET', '/queues')).status).toBe(200);
  });

  it('are read one by one, also sources whose credential is of another kind', async () => {
    const named = await json('POST', '/clients', { kind: 'source', name: 'named', credential: { userName: 'bob' } });
    expect(named).toEqual({ clientId: expect.any(String), userName: 'bob', password: expect.any(String) });
    const path = `/clients/${String(named['clientId'])}`;
    expect(await json('GET', path)).toMatchObject({ name: 'named', credentialType: 'basic' });
    expect((await operations.call('GET', '/clients/nobody')).status).toBe(404);
    const brought = { kind: 'source', name: 'brought', credential: { jwt: 'x.y.z' } };
    const refused = await json('POST', '/clients', brought);
    expect(refused).toMatchObject({ status: 400, errors: [{ pointer: '/credential' }] });
    expect(refused['detail']).toMatch(/^That is no signed JWT: /);
  });
});
