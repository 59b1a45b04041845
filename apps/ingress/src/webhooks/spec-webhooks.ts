import { request, type IncomingHttpHeaders } from 'node:http';
import type { DynamicModule } from '@nestjs/common';
import { AccessTokens } from '@relay/access';
import { ClientDirectory } from '@relay/identity';
import { redisReady } from '@relay/redis';
import { startRedisServer } from '@relay/testing';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { aConfig, startSpecApp } from '../http/spec-app.js';
import { WebhooksModule } from './webhooks.module.js';

// This file is for specs only. It starts the real application with the webhooks module and a new Redis.

/** Returns the ids of the records in the answer to a list request. */
export const idsIn = ({ json }: Answer): string[] => Records.parse(json).map(({ id }) => id);

const Records = z.array(z.object({ id: z.string() }));

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // The value is not validated, because the assertions of the specs state what is expected.
  readonly json: unknown;
}

export interface Asking {
  readonly token?: string;
  /** A string is sent as it is; any other value is sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Partner {
  readonly clientId: string;
  readonly token: string;
}

/** Sends a request. Unlike `fetch`, it can send a body with GET as well. */
function ask(url: string, method: string, { token, body, headers = {} }: Asking = {}): Promise<Answer> {
  const bytes = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      method,
      agent: false,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(bytes === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(bytes) }),
        ...headers,
      },
    });
    outgoing.on('error', reject).on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        const json: unknown = text === '' ? undefined : JSON.parse(text);
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json });
      });
    });
    outgoing.end(bytes);
  });
}

// The return type is inferred from the returned object.
// oxlint-disable-next-line typescript/explicit-function-return-type
export async function startWebhooks(settings: Record<string, string> = {}, more: DynamicModule['imports'] = []) {
  const server = await startRedisServer();
  const spec = await startSpecApp([WebhooksModule, ...more], aConfig(server.url(), { TRUST_PROXY: '1', ...settings }));
  await redisReady(spec.app.get(Redis), () => undefined);
  const redis = new Redis(server.url());
  const tokens = spec.app.get(AccessTokens);
  return {
    server,
    spec,
    redis,
    ask: (method: string, path: string, asking?: Asking) => ask(spec.url + path, method, asking),
    aPartner: async (name = 'p', scopes = ['webhooks', 'sessions']): Promise<Partner> => {
      const { clientId } = await spec.clients.createPartner(name);
      return { clientId, token: await tokens.issue(clientId, scopes) };
    },
    /** Loads changed clients, as the ingress does every few seconds. */
    refreshClients: () => spec.app.get(ClientDirectory).refresh(),
    /** Returns every key of Redis about webhooks, with its value, to prove that nothing was stored. */
    stored: async (): Promise<string> => {
      const keys = (await redis.keys('*webhooks*')).toSorted();
      const dumps = await Promise.all(keys.map((key) => redis.dumpBuffer(key)));
      return JSON.stringify([
        await redis.get('{relay:0}:registry:version'),
        keys,
        dumps.map((dump) => dump?.toString('hex')),
      ]);
    },
    /** Deletes everything in Redis and in the registry log. */
    empty: async () => {
      await redis.flushdb();
      spec.registryLog.commands.length = 0;
    },
    stop: async () => {
      redis.disconnect();
      await spec.app.close();
      await server.stop();
    },
  };
}

export type Webhooks = Awaited<ReturnType<typeof startWebhooks>>;
