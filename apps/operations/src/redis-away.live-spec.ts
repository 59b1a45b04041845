import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { parseEnv } from '@relay/config';
import { Clients, ClientStore, type IssuedSecret } from '@relay/identity';
import { Keyring } from '@relay/keyring';
import { RegistryView } from '@relay/registry';
import { OperationsEnv } from '@relay/settings';
import {
  aSigningKeyText,
  freePort,
  MemoryPublisher,
  MemoryRegistryLog,
  startRedisServer,
  type RedisServer,
} from '@relay/testing';
import { Redis } from 'ioredis';
import { createOperationsApp } from './operations-app.js';
import { OperationsModule } from './operations.module.js';
import { routesOf } from './spec-operations.js';

const ANSWER_MS = 10_000;
const UUID = '11111111-1111-4111-8111-111111111111';
const BODIES: Readonly<Record<string, object>> = {
  '/clients': { kind: 'partner', name: 'acme' },
  '/replays': { webhook: UUID },
  '/portal/links': { partnerId: 'partner_none' },
  '/dead-letters/replay': { all: true },
  '/dead-letters/purge': { all: true },
  '/notices': { url: 'https://ops.example.com/relay' },
  '/event-types/apply': { eventTypes: {} },
};
/** Of the routes that take a body by PUT. */
const isDefinition = (method: string, path: string): boolean => method === 'PUT' && path.startsWith('/event-types/');
const bodyOf = (method: string, path: string): string =>
  JSON.stringify(
    method === 'PATCH'
      ? { role: 'viewer' }
      : isDefinition(method, path)
        ? { description: 'd', sample: {} }
        : (BODIES[path] ?? {}),
  );

describe('the operations app without Redis or Kafka', () => {
  let server: RedisServer;
  /** A broker that closes every connection, or, while frozen, leaves it open and says nothing. */
  let isFrozen = false;
  const broker = createServer((socket) => {
    socket.on('error', () => undefined);
    if (!isFrozen) socket.destroy();
  });
  let app: NestFastifyApplication;
  let url: string;
  let operator: Pick<IssuedSecret, 'clientId' | 'clientSecret'>;
  let beforeRedis: unknown[];
  const keys = { ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`, JWT_PRIVATE_KEYS: aSigningKeyText() };
  const registryLog = new MemoryRegistryLog();
  beforeAll(async () => {
    // Nobody listens there when the app starts.
    const port = await freePort();
    const kafkaPort = await freePort();
    await once(broker.listen(kafkaPort, '127.0.0.1'), 'listening');
    const stores = { REDIS_URL: `redis://127.0.0.1:${port}`, KAFKA_BROKERS: `127.0.0.1:${kafkaPort}` };
    const env = { ...stores, ...keys, SEARCH_INDEX: 'off', LOG_LEVEL: 'silent', OPERATIONS_WRITE: 'true' };
    const config = parseEnv(OperationsEnv, env, () => '');
    const publisher = new MemoryPublisher();
    publisher.createTopic('relay.operations');
    publisher.createTopic('relay.dead-letters');
    publisher.createTopic('relay.notices');
    app = await createOperationsApp(OperationsModule.register(config, publisher, registryLog), config);
    await app.listen(0, '127.0.0.1');
    url = (await app.getUrl()).replace('[::1]', '127.0.0.1');
    operator = { clientId: 'nobody', clientSecret: 'none' };
    beforeRedis = await wrong();
    server = await startRedisServer(port);
    await until(async () => app.get(Redis).status === 'ready');
    const store = new ClientStore(app.get(Redis), app.get(RegistryView).of('client'));
    operator = await new Clients(store, app.get(Keyring), randomBytes, Date.now).createOperator('night', 'admin');
    await until(works);
  });
  afterAll(async () => {
    await app.close();
    await server.stop();
    broker.close();
  });

  async function ask(method: string, path: string) {
    const askedAt = performance.now();
    const credential = Buffer.from(`${operator.clientId}:${operator.clientSecret}`).toString('base64');
    const answer = await fetch(url + path, {
      method,
      headers: { authorization: `Basic ${credential}`, 'content-type': 'application/json' },
      ...(method === 'POST' || method === 'PATCH' || isDefinition(method, path) ? { body: bodyOf(method, path) } : {}),
    });
    return { answer, text: await answer.text(), ms: performance.now() - askedAt };
  }
  const works = async (): Promise<boolean> => {
    const paths = ['/queues', '/webhooks', '/replays', '/dead-letters', '/board/api/queues'];
    const answers = await Promise.all(paths.map((path) => ask('GET', path)));
    return answers.every(({ answer }) => answer.status === 200);
  };
  /** The routes of the API that are not answered as they should be while Redis is away. */
  async function wrong(): Promise<unknown[]> {
    // The search, the sign-in and the document need no Redis, nor does it to tell who asks; the examination and `GET /now` say that Redis is away.
    // Links to the console are off here.
    const links = ['/session/links', '/session/code'];
    const others = new Set([
      '/',
      '/openapi.json',
      '/attempts',
      '/attempts/counts',
      '/doctor',
      '/now',
      '/session',
      ...links,
    ]);
    const routes = routesOf(app)
      .filter(([, path]) => !others.has(path) && !/^\/(?:board|files|sign-in)/.test(path))
      .map(([method, path]) => [method, path.replace(/(webhooks|envelopes)\/-_[^/]+/, `$1/${UUID}`)] as const);
    const asked = [...routes, ['GET', '/board/api/queues'], ['PUT', '/board/api/queues/deliveries/pause']] as const;
    const answers = await Promise.all(
      asked.map(async ([method, path]) => ({ method, path, of: await ask(method, path) })),
    );
    return answers.flatMap(({ method, path, of: { answer, text, ms } }) => {
      const body = JSON.parse(text || '{}') as Record<string, unknown>;
      const isTold = String(body['type']).endsWith('#unavailable');
      const isCareful = Number(answer.headers.get('retry-after')) > 0;
      const isFine = answer.status === 503 && isTold && isCareful && ms < ANSWER_MS;
      return isFine || method === 'HEAD' ? [] : [{ method, path, status: answer.status, text, ms }];
    });
  }
  async function until(condition: () => Promise<boolean>): Promise<void> {
    const end = performance.now() + 20_000;
    while (!(await condition())) {
      if (performance.now() > end) throw new Error('it does not come true');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  it('answered every route 503 while there had never been a Redis, and began to work when there was', () => {
    expect(routesOf(app).length).toBeGreaterThan(40);
    expect(beforeRedis).toEqual([]);
  });

  it('answers every route 503 within 10 s while Redis is frozen, and as ever when it goes on', async () => {
    server.process.kill('SIGSTOP');
    expect(await wrong()).toEqual([]); // over connections that count as ready
    const { answer, text, ms } = await ask('GET', '/doctor');
    expect([answer.status, ms < ANSWER_MS]).toEqual([200, true]);
    const away = ['redis', 'kafka'].map((check) => expect.objectContaining({ check, state: 'fault', fix: 'start it' }));
    expect(JSON.parse(text)).toMatchObject({ healthy: false, findings: expect.arrayContaining(away) });
    const { answer: now, text: said, ms: took } = await ask('GET', '/now');
    expect([now.status, took < ANSWER_MS]).toEqual([200, true]);
    const nothing = { lag: null, queues: null, waiting: null, rates: { accepted: null, delivered: null } };
    expect(JSON.parse(said)).toMatchObject({ ...nothing, incomplete: ['redis', 'kafka', 'index'] });
    expect(await wrong()).toEqual([]); // over connections that cannot be opened
    server.process.kill('SIGCONT');
    await until(works);
  });

  it('answers every route 503 at once while Redis is dead, and as ever when it is back', async () => {
    const { port } = server;
    await server.stop();
    expect(await wrong()).toEqual([]);
    server = await startRedisServer(port);
    await until(works);
  });

  it('answers 503 within 10 s while Kafka is frozen, and is there still when what it asked has ended', async () => {
    isFrozen = true;
    const { answer, text, ms } = await ask('GET', '/lag');
    isFrozen = false;
    expect([answer.status, answer.headers.get('retry-after'), ms < ANSWER_MS]).toEqual([503, '5', true]);
    expect(JSON.parse(text)).toMatchObject({
      detail: 'There was no answer within 9 s: Kafka or Redis is down or slow.',
    });
    await new Promise((resolve) => setTimeout(resolve, 8_000)); // kafkajs gives up after 15 s
    expect(await works()).toBe(true);
  });

  it('says of a change, and of a change only, that it may have been made', async () => {
    server.process.kill('SIGSTOP');
    const [change, look] = await Promise.all([ask('POST', '/dead-letters/purge'), ask('GET', '/dead-letters')]);
    server.process.kill('SIGCONT');
    expect(change.text).toContain('The change may have been made, in full or in part');
    expect(look.text).not.toContain('may have been made');
    await until(works);
  });
});
