import { randomBytes, randomUUID } from 'node:crypto';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { parseEnv } from '@relay/config';
import type { DeadLetter } from '@relay/dead-letters';
import { Clients, ClientStore, type IssuedSecret } from '@relay/identity';
import { Keyring } from '@relay/keyring';
import { redisReady } from '@relay/redis';
import { RegistryView } from '@relay/registry';
import { RetryQueue } from '@relay/retry';
import { OperationsEnv } from '@relay/settings';
import {
  aSigningKeyText,
  MemoryPublisher,
  MemoryRegistryLog,
  startRedisServer,
  type RedisServer,
} from '@relay/testing';
import { Redis } from 'ioredis';
import { createOperationsApp } from './operations-app.js';
import { OperationsModule } from './operations.module.js';

/** Text in the body of every dead letter. Specs check that it does not leak. */
export const CANARY = 'canary-4711';

const keys = { ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`, JWT_PRIVATE_KEYS: aSigningKeyText() };
const registryLog = new MemoryRegistryLog();

export const basicOf = ({ clientId, clientSecret }: IssuedSecret): string =>
  `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;

export const letterOf = (changes: Partial<DeadLetter> = {}): DeadLetter => ({
  v: 1,
  webhookId: '-',
  partnerId: '',
  envelopeId: randomUUID(),
  eventType: 'task.created',
  hash: '0123456789abcdef',
  series: 0,
  attempts: 10,
  acceptedAt: 1_000,
  body: JSON.stringify({ secret: CANARY }),
  reason: 'attempts_exhausted',
  diedAt: 2_000,
  ...changes,
});

/** The operations app on a real Redis and an in-memory Kafka, with an operator who sends requests. */
export class RunningOperations {
  private constructor(
    readonly app: NestFastifyApplication,
    readonly url: string,
    readonly publisher: MemoryPublisher,
    readonly clients: Clients,
    readonly operator: IssuedSecret,
  ) {}

  static async start(server: RedisServer, settings: Record<string, string> = {}): Promise<RunningOperations> {
    const env = {
      REDIS_URL: server.url(),
      KAFKA_BROKERS: '127.0.0.1:1',
      SEARCH_INDEX: 'off',
      LOG_LEVEL: 'silent',
      ...keys,
      ...settings,
    };
    const config = parseEnv(OperationsEnv, env, () => '');
    const publisher = new MemoryPublisher();
    publisher.createTopic('relay.operations');
    publisher.createTopic('relay.dead-letters');
    publisher.createTopic('relay.notices');
    const app = await createOperationsApp(OperationsModule.register(config, publisher, registryLog), config);
    await app.listen(0, '127.0.0.1');
    await redisReady(app.get(Redis), () => undefined);
    const url = (await app.getUrl()).replace('[::1]', '127.0.0.1');
    const store = new ClientStore(app.get(Redis), app.get(RegistryView).of('client'));
    const clients = new Clients(store, app.get(Keyring), randomBytes, Date.now);
    return new RunningOperations(app, url, publisher, clients, await clients.createOperator('night', 'admin'));
  }

  /**
   * Starts the app for one spec file. It and its Redis stop after the last test of the file. Call this outside of
   * `describe`.
   */
  static async ofSpec(): Promise<RunningOperations> {
    const server = await startRedisServer();
    const operations = await RunningOperations.start(server);
    afterAll(async () => {
      await operations.close();
      await server.stop();
    });
    return operations;
  }

  /** Sends a request as the operator, unless `headers` contain other credentials. */
  call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
    return fetch(this.url + path, {
      method,
      redirect: 'manual',
      headers: {
        authorization: basicOf(this.operator),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  /** Returns the records on `relay.operations`. */
  told(): Record<string, unknown>[] {
    return this.publisher
      .read('relay.operations')
      .map(({ value }) => JSON.parse(value.toString()) as Record<string, unknown>);
  }

  addDeadLetter(letter: DeadLetter): Promise<void> {
    return this.app.get(RetryQueue).addDeadLetter(letter);
  }

  async close(): Promise<void> {
    await this.app.close();
  }
}

/** A valid delivery id. */
export const ID = '-_11111111-1111-4111-8111-111111111111_0123456789abcdef_0_1';

/** Returns the method and path of every route. Parameters in the path are replaced by values. */
export function routesOf(app: NestFastifyApplication): [string, string][] {
  const printed = app.getHttpAdapter().getInstance().printRoutes({ commonPrefix: false, includeHooks: false });
  const found: [string, string][] = [];
  const path: string[] = [];
  for (const line of printed.split('\n')) {
    const match = /^((?:[│ ] {3})*)[├└]── (\S*)(?: \(([A-Z, ]+)\))?/.exec(line);
    if (match === null) continue;
    path.length = (match[1]?.length ?? 0) / 4;
    path.push(match[2] ?? '');
    const full = path.join('').replaceAll(/:\w+/g, ID).replace('*', 'x.js');
    for (const method of match[3]?.split(', ') ?? []) found.push([method, full]);
  }
  return found;
}
