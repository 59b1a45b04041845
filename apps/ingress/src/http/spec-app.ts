import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { Clients, ClientStore } from '@relay/identity';
import { parseEnv } from '@relay/config';
import { Keyring } from '@relay/keyring';
import { redisReady } from '@relay/redis';
import { Publisher } from '@relay/publishing';
import { RegistryLog } from '@relay/registry';
import {
  aSigningKeyText,
  MemoryPublisher,
  MemoryRegistryLog,
  startRedisServer,
  type RedisServer,
} from '@relay/testing';
import { Global, Module, type DynamicModule } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Redis } from 'ioredis';
import { IngressEnv, type IngressConfig } from '@relay/settings';
import { PlatformModule } from '../platform.module.js';
import { createIngressApp } from '../access/access.module.js';

// This file is for specs only. It starts the real application on a free port, with new keys.

export const aConfig = (redisUrl: string, changes: Record<string, string> = {}): IngressConfig =>
  parseEnv(
    IngressEnv,
    {
      LOG_LEVEL: 'silent',
      KAFKA_BROKERS: '127.0.0.1:1',
      REDIS_URL: redisUrl,
      ENCRYPTION_KEYS: `e1:${randomBytes(32).toString('base64')}`,
      JWT_PRIVATE_KEYS: aSigningKeyText(),
      PUBLIC_URL: 'https://relay.example/',
      ...changes,
    },
    () => '',
  );

export interface SpecApp {
  readonly app: NestFastifyApplication;
  readonly clients: Clients;
  readonly url: string;
  /** The log that receives the registrations. */
  readonly registryLog: MemoryRegistryLog;
  /** Returns the records of `relay.operations`. */
  told(): Record<string, unknown>[];
  /** Sends these bytes, and returns everything that the server answers until the connection ends. */
  raw(request: string | Buffer): Promise<string>;
}

/** Starts the application with these modules. The caller ends it with `app.close()`. */
export async function startSpecApp(modules: DynamicModule['imports'], config: IngressConfig): Promise<SpecApp> {
  const module = {
    module: SpecModule,
    imports: [PlatformModule.register(config), MemoryLogModule, ...(modules ?? [])],
  };
  const app = await createIngressApp(module, config);
  await app.listen(0, '127.0.0.1');
  await redisReady(app.get(Redis), () => undefined);
  const url = (await app.getUrl()).replace('[::1]', '127.0.0.1');
  const clients = new Clients(app.get(ClientStore), app.get(Keyring), randomBytes, Date.now);
  const registryLog = app.get<RegistryLog, MemoryRegistryLog>(RegistryLog);
  const told = (): Record<string, unknown>[] =>
    app
      .get<Publisher, MemoryPublisher>(Publisher)
      .read(OPERATIONS)
      .map(({ value }) => JSON.parse(value.toString()) as Record<string, unknown>);
  const raw = (request: string | Buffer): Promise<string> => exchange(Number(new URL(url).port), request);
  return { app, clients, url, registryLog, told, raw };
}

/**
 * Starts the application with these modules and a new Redis. Call it at the top level of a spec. Both are stopped after the
 * last test of the spec.
 */
export async function appOfSpec(
  modules: DynamicModule['imports'],
  changes: Record<string, string> = {},
): Promise<SpecApp & { readonly redis: RedisServer }> {
  const redis = await startRedisServer();
  const spec = await startSpecApp(modules, aConfig(redis.url(), changes));
  afterAll(async () => {
    await spec.app.close();
    await redis.stop();
  });
  return { ...spec, redis };
}

const OPERATIONS = 'relay.operations';

function aLog(): MemoryPublisher {
  const log = new MemoryPublisher();
  log.createTopic(OPERATIONS);
  return log;
}

@Module({})
class SpecModule {}

/** Replaces LogModule, so that each application has its own log in memory. */
@Global()
@Module({
  providers: [
    { provide: Publisher, useFactory: aLog },
    { provide: RegistryLog, useFactory: () => new MemoryRegistryLog() },
  ],
  exports: [Publisher, RegistryLog],
})
class MemoryLogModule {}

function exchange(port: number, request: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('utf8')));
  });
}
