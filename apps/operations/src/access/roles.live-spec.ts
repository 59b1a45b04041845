import { AccessTokens } from '@relay/access';
import { ClientDirectory, OPERATOR_ROLES, scopesOfRole, type OperatorRole } from '@relay/identity';
import { routesOf } from '@relay/openapi';
import { startRedisServer, type RedisServer } from '@relay/testing';
import { CONTROLLERS } from '../controllers.js';
import { basicOf, RunningOperations } from '../spec-operations.js';

const PAUSE = ['PUT', '/board/api/queues/deliveries/pause'] as const;
const ROLE_OF: Readonly<Record<string, OperatorRole>> = {
  'operations:read': 'viewer',
  'operations:write': 'operator',
  operations: 'admin',
};

describe('roles of operators', () => {
  let server: RedisServer;
  let operations: RunningOperations;
  const logins = new Map<string, { authorization: string }>();
  beforeAll(async () => {
    server = await startRedisServer();
    operations = await RunningOperations.start(server);
    for (const role of OPERATOR_ROLES) {
      const issued = await operations.clients.createOperator(role, role);
      logins.set(role, { authorization: basicOf(issued) });
    }
  });
  afterAll(async () => {
    await operations.close();
    await server.stop();
  });

  const statusOf = async (role: OperatorRole, method: string, path: string, at = operations): Promise<number> => {
    const answer = await at.call(method, path, undefined, logins.get(role));
    await answer.text();
    return answer.status;
  };
  const routes = routesOf(CONTROLLERS)
    .filter(({ access }) => access === 'operator')
    .map(({ method, path, scopes }) => ({
      method,
      path: path.replaceAll(/:\w+/g, 'none'),
      needed: ROLE_OF[scopes[0] ?? ''] ?? 'admin',
    }));

  it.each(routes)('$method $path is for each $needed, and for nobody below', async ({ method, path, needed }) => {
    const admitted: OperatorRole[] = [];
    for (const role of OPERATOR_ROLES) if ((await statusOf(role, method, path)) !== 403) admitted.push(role);
    expect(admitted).toEqual(OPERATOR_ROLES.slice(OPERATOR_ROLES.indexOf(needed)));
  });

  it('are named by a refusal', async () => {
    const answer = await operations.call('POST', '/clients', { kind: 'partner', name: 'x' }, logins.get('operator'));
    expect(answer.headers.get('www-authenticate')).toContain('scope="operations"');
    expect(await answer.json()).toMatchObject({ status: 403, detail: 'This needs the role admin.' });
  });

  it('change for open sessions and for tokens, which keep what the new role has too', async () => {
    const issued = await operations.clients.createOperator('falls', 'admin');
    const { clientId, clientSecret } = issued;
    const token = await operations.app.get(AccessTokens).issue(clientId, scopesOfRole('admin'));
    const entered = await operations.call('POST', '/session', { clientId, clientSecret });
    const ways = {
      session: { cookie: String(entered.headers.get('set-cookie')).split(';', 1)[0] ?? '', 'relay-console': 'acting' },
      token: { authorization: `Bearer ${token}` },
      secret: { authorization: basicOf(issued) },
    };
    const rolesNow = async (): Promise<string[]> => {
      await operations.app.get(ClientDirectory).refresh();
      const answers = Object.values(ways).map(async (headers) => {
        const answer = await operations.call('GET', '/session', undefined, headers);
        return String(((await answer.json()) as { role: unknown }).role);
      });
      return Promise.all(answers);
    };
    expect(await rolesNow()).toEqual(['admin', 'admin', 'admin']);
    for (const role of ['operator', 'viewer', 'admin'] as const) {
      const changed = await operations.call('PATCH', `/clients/${clientId}`, { role });
      expect(changed.status).toBe(200);
      expect([role, await rolesNow()]).toEqual([role, [role, role, role]]);
    }
    // A token has no more than it was fetched with.
    const lesser = await operations.app.get(AccessTokens).issue(clientId, scopesOfRole('viewer'));
    ways.token = { authorization: `Bearer ${lesser}` };
    expect(await rolesNow()).toEqual(['admin', 'viewer', 'admin']);
  });

  it('leave the board read-only to viewers, and nothing to change where OPERATIONS_WRITE is false', async () => {
    const writing = await RunningOperations.start(server, { OPERATIONS_WRITE: 'true' });
    expect([
      await statusOf('viewer', 'GET', '/board/api/queues', writing),
      await statusOf('viewer', ...PAUSE, writing),
    ]).toEqual([200, 403]);
    expect(await statusOf('operator', ...PAUSE, writing)).toBe(200);
    await writing.close();

    const reading = await RunningOperations.start(server, { OPERATIONS_WRITE: 'false' });
    const changed: unknown[] = [];
    for (const { method, path } of [...routes, { method: PAUSE[0], path: PAUSE[1] }])
      if (method !== 'GET' && (await statusOf('admin', method, path, reading)) !== 403) changed.push([method, path]);
    expect(changed).toEqual([]);
    expect(await statusOf('admin', 'GET', '/clients', reading)).toBe(200);
    await reading.close();
  });
});
