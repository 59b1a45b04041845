import { EVENT_TYPES, eventTypes as known, NOTICE_TYPES, readEnvelope, readNotice } from '@relay/events';
import { startRedisServer, type RedisServer } from '@relay/testing';
import { z } from 'zod';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createIngressApp } from '../access/access.module.js';
import { aConfig } from '../http/spec-app.js';
import { IngressModule } from '../ingress.module.js';

let redis: RedisServer;
let app: NestFastifyApplication;
let url: string;
const routes: string[] = [];
beforeAll(async () => {
  redis = await startRedisServer();
  const config = aConfig(redis.url(), { KAFKA_TOPIC_PREFIX: 'eu.', KAFKA_TOPIC_PARTITIONS: '3' });
  app = await createIngressApp(IngressModule.register(config), config);
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onRoute', ({ method, url: path }) => {
      for (const one of [method].flat())
        // A path that leads to the same without its slash is no operation.
        if (one !== 'HEAD' && path !== '/portal/') routes.push(`${one} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
    });
  await app.listen(0, '127.0.0.1');
  url = (await app.getUrl()).replace('[::1]', '127.0.0.1');
});
afterAll(async () => {
  await app?.close();
  await redis?.stop();
});

const Paths = z.object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) });

describe('/openapi.json', () => {
  it("has exactly Fastify's routes", async () => {
    const response = await fetch(`${url}/openapi.json`);
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    const { paths } = Paths.parse(await response.json());
    const documented = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(routes.length).toBeGreaterThan(15);
    expect(documented.toSorted()).toEqual(routes.toSorted());
  });

  it('lists in pages: what takes a limit says in Link where the next page is', async () => {
    const { paths } = Paths.parse(await (await fetch(`${url}/openapi.json`)).json());
    const lists = Object.entries(paths).flatMap(([path, methods]) => {
      const { get } = methods as { get?: { parameters?: { name: string }[]; responses: { 200: { headers: object } } } };
      const names = get?.parameters?.map(({ name }) => name) ?? [];
      return get !== undefined && names.includes('limit')
        ? [{ path, names, headers: Object.keys(get.responses[200].headers) }]
        : [];
    });
    expect(lists.length).toBeGreaterThan(4);
    for (const { path, names, headers } of lists) {
      expect([path, headers]).toEqual([path, expect.arrayContaining(['Link'])]);
      expect([path, names.some((name) => ['cursor', 'before'].includes(name))]).toEqual([path, true]);
    }
  });
});

it('leads a browser from / to the documents, and answers a program 404', async () => {
  const home = (accept: string): Promise<Response> => fetch(url, { headers: { accept }, redirect: 'manual' });
  const browser = await home('text/html,application/xhtml+xml,*/*;q=0.8');
  expect([browser.status, browser.headers.get('location')]).toEqual([303, 'docs']);
  const program = await home('*/*');
  expect([program.status, await program.json()]).toEqual([404, expect.objectContaining({ status: 404 })]);
  expect((await fetch(url, { headers: { accept: 'text/html' } })).url).toBe(`${url}/docs`);
});

describe('/asyncapi.json', () => {
  it('names the topics as they are in this relay', async () => {
    const document = await (await fetch(`${url}/asyncapi.json`)).json();
    expect(document).toMatchObject({
      asyncapi: '3.1.0',
      channels: { task_created: { address: 'eu.task.created', bindings: { kafka: { partitions: 3 } } } },
    });
  });
});

describe('/event-types', () => {
  it('gives the description, sender, topic, payload schema and sample of each type', async () => {
    const { eventTypes } = (await (await fetch(`${url}/event-types`)).json()) as {
      eventTypes: { name: string; sentBy: string; topic: string }[];
    };
    expect(eventTypes.map(({ name }) => name)).toEqual(known.names('registrable'));
    const namesOf = (sender: string) => eventTypes.filter(({ sentBy }) => sentBy === sender).map(({ name }) => name);
    expect([namesOf('sources'), namesOf('relay')]).toEqual([[...EVENT_TYPES], [...NOTICE_TYPES]]);
    expect(eventTypes.at(-1)).toMatchObject({ name: 'secret.rotated', topic: 'eu.relay.notices' });
    expect(eventTypes.find(({ name }) => name === 'task.deleted')).toEqual({
      name: 'task.deleted',
      description: 'A task of a user was deleted.',
      sentBy: 'sources',
      topic: 'eu.task.deleted',
      payloadSchema: 'https://relay.example/schemas/TaskPayload.json',
      sample: expect.objectContaining({ type: 'task.deleted', payload: expect.anything() }),
    });
    for (const { payloadSchema } of z.array(z.looseObject({ payloadSchema: z.string().nullable() })).parse(eventTypes))
      if (payloadSchema !== null)
        expect((await fetch(payloadSchema.replace('https://relay.example', url))).status).toBe(200);
    for (const each of eventTypes) {
      const read = each.sentBy === 'relay' ? readNotice : readEnvelope;
      expect(read(Buffer.from(JSON.stringify(Reflect.get(each, 'sample'))), ['p']).ok).toBe(true);
    }
  });
});

describe('/schemas', () => {
  it('has schemas that stand alone, and no others', async () => {
    const response = await fetch(`${url}/schemas/Envelope.json`);
    expect(response.headers.get('content-type')).toMatch(/^application\/schema\+json/);
    expect(await response.json()).toMatchObject({ $id: 'https://relay.example/schemas/Envelope.json' });
    for (const name of ['Envelope', 'constructor.json', '__proto__.json', 'x.json']) {
      const { status, headers } = await fetch(`${url}/schemas/${name}`);
      expect([status, headers.get('cache-control')]).toEqual([404, 'no-store']);
    }
  });
});

describe('/docs', () => {
  it('shows every operation in a browser, without script and with no address but its own', async () => {
    const response = await fetch(`${url}/docs`);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/);
    const page = await response.text();
    for (const route of routes) expect(page).toContain(`<h2>${route}</h2>`);
    expect(page).not.toMatch(/<script|<link|src=|href="http/);
  });
});

it('serves the page that problem types point to', async () => {
  const response = await fetch(`${url}/docs/errors`);
  expect(response.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
  expect(await response.text()).toContain('## malformed-json');
});
