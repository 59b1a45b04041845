import { OPERATOR_ROLES, type OperatorRole } from '@relay/identity';
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
