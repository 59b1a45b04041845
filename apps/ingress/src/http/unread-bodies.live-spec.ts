import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get, Module, type Type } from '@nestjs/common';
import { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import { Agent, fetch, type Response } from 'undici';
import { routesOf, type Route } from '@relay/openapi';
import { controllersOf, FEATURES } from '../ingress.module.js';
import { appOfSpec, aConfig, startSpecApp } from './spec-app.js';

const MIB = 1024 * 1024;

let opened: Socket[] = [];
const settings = { MAX_BUFFERED_BYTES: String(32 * MIB), MAX_CONNECTIONS: '100' };
const spec = await appOfSpec([...FEATURES], settings);
afterEach(async () => {
  for (const socket of opened) socket.destroy();
  opened = [];
  await until(async () => (await gauge('relay_http_buffered_bytes')) === 0);
});

const gauge = async (name: string): Promise<number> => {
  const text = await spec.app.get<Registry>(Registry).metrics();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
};

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`waited in vain until ${String(condition)}`);
    await delay(20);
  }
}

/** A connection that is kept open, and what it was answered so far. */
interface Connection {
  readonly socket: Socket;
  readonly received: () => string;
  readonly isEnded: () => boolean;
}

async function open(sent: string | Buffer): Promise<Connection> {
  let [text, isEnded] = ['', false];
  const socket = connect(Number(new URL(spec.url).port), '127.0.0.1');
  opened.push(socket);
  socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
  socket.on('error', () => undefined).on('close', () => (isEnded = true));
  await once(socket, 'connect');
  socket.write(sent);
  return { socket, received: () => text, isEnded: () => isEnded };
}

const head = (method: string, path: string, headers: Record<string, string | number>): string =>
  `${method} ${path} HTTP/1.1\r\nHost: relay.example\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`;

const sourceKey = async (name: string): Promise<string> => {
  const source = await spec.clients.createSource(name, { credential: 'apiKey' });
  return 'apiKey' in source ? source.apiKey : '';
};

/** A batch of 4 MiB of which all but the last byte is sent. */
const halfBatch = (key: string): Buffer =>
  Buffer.concat([
    Buffer.from(
      head('POST', '/deliveries/batch', {
        'content-type': 'application/x-ndjson',
        'content-length': 4 * MIB,
        'x-api-key': key,
      }),
    ),
    Buffer.alloc(4 * MIB - 1, ' '),
  ]);

const routes = routesOf(controllersOf(FEATURES));
const pathOf = ({ path }: Route): string => path.replaceAll(/:\w+/g, '0f0e0d0c-0b0a-4908-8706-050403020100');

describe('a body of somebody unknown', () => {
  it.each(routes.filter(({ access }) => access !== 'public' && access !== 'listing'))(
    'is not awaited by $method $path',
    async (route) => {
      const { received } = await open(
        head(route.method, pathOf(route), {
          'content-type': route.mediaTypes[0] ?? '',
          'content-length': 60_000,
        }),
      );
      await until(() => received().includes('\r\n\r\n'));
      expect(received()).toMatch(/^HTTP\/1\.1 401 /);
    },
  );

  it('is not held, however many hold back how much; their connections go on', async () => {
    const all = await Promise.all(Array.from({ length: 40 }, () => open(halfBatch('of-nobody'))));
    await until(() => all.every(({ received }) => /^HTTP\/1\.1 4(?:01|29) /.test(received())));
    expect(await gauge('relay_http_buffered_bytes')).toBe(0);
    const [first] = all;
    first?.socket.write(` ${head('GET', '/docs/errors', { connection: 'close' })}`);
    await until(() => first?.isEnded() === true);
    expect(first?.received().match(/HTTP\/1\.1 \d+/g)).toEqual([expect.any(String), 'HTTP/1.1 200']);
  });

  it('is not read where there is no such path, or where it is public', async () => {
    for (const [path, length, status] of [
      ['/nowhere', 60_000, 404],
      ['/docs/errors', 20_000, 413],
      ['/webhooks', 20_000, 413],
    ] as const) {
      const { received } = await open(
        head('GET', path, { 'content-type': 'application/json', 'content-length': length }),
      );
      await until(() => received().includes('\r\n\r\n'));
      expect([path, received().slice(9, 12)]).toEqual([path, String(status)]);
    }
  });

  it('is not asked for by 100 Continue; that of a caller is', async () => {
    const expecting = (headers: Record<string, string>): string =>
      head('POST', '/deliveries', {
        'content-type': 'application/json',
        'content-length': 2,
        expect: '100-continue',
        ...headers,
      });
    const [refused, asked] = [
      await open(expecting({})),
      await open(expecting({ 'x-api-key': await sourceKey('asked') })),
    ];
    await until(() => refused.isEnded() && asked.received().includes('\r\n\r\n'));
    expect(refused.received()).toMatch(/^HTTP\/1\.1 401 /);
    expect(asked.received()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    asked.socket.write('{}');
    await until(() => asked.received().includes('HTTP/1.1 400 '));
  });
});

describe('bodies of callers', () => {
  it('have a budget, and one caller a share of it, which is given back', async () => {
    const [greedy, other] = [await sourceKey('greedy'), await sourceKey('other')];
    const all = await Promise.all(Array.from({ length: 12 }, () => open(halfBatch(greedy))));
    const refused = (): number => all.filter(({ received }) => received().startsWith('HTTP/1.1 503 ')).length;
    const held = (): Promise<number> => gauge('relay_http_buffered_bytes');
    // A quarter, which is two of them; both grow at once, so that it may be one.
    await until(async () => refused() >= 10 && (await held()) === (12 - refused()) * 4 * MIB);
    expect(refused()).toBeLessThan(12);
    expect(all.find(({ received }) => received() !== '')?.received()).toMatch(/\r\nretry-after: 1\r\n/);

    // Another is served meanwhile, and so is the one that is.
    const answer = await fetch(`${spec.url}/deliveries`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': other },
      body: JSON.stringify({ filling: ' '.repeat(200_000) }),
    });
    expect(answer.status).toBe(400);
    for (const { socket, received } of all) if (received() === '') socket.write('\n');
    await until(() => all.every(({ received }) => received().startsWith('HTTP/1.1 ')));
    await until(async () => (await held()) === 0);
    // One that breaks off gives back as well.
    const { socket } = await open(halfBatch(greedy));
    await until(async () => (await held()) === 4 * MIB);
    socket.destroy();
    await until(async () => (await held()) === 0);
  });

  it('count for their caller as what it announces, and for everybody else as what it sends', async () => {
    const [greedy, other] = [await sourceKey('announcing'), await sourceKey('sending')];
    const announced = halfBatch(greedy).subarray(0, 1_000);
    const all = await Promise.all(Array.from({ length: 12 }, () => open(announced)));
    const refused = (): number => all.filter(({ received }) => received().startsWith('HTTP/1.1 503 ')).length;
    await until(() => refused() === 10);
    expect(await gauge('relay_http_buffered_bytes')).toBeLessThanOrEqual(2 * 4_096);

    const sent = await open(halfBatch(other));
    await until(async () => (await gauge('relay_http_buffered_bytes')) > 4 * MIB);
    expect(sent.received()).toBe('');
    // What breaks off is not announced any more.
    for (const { socket } of all) socket.destroy();
    await until(async () => (await gauge('relay_http_buffered_bytes')) === 4 * MIB);
    const next = await open(announced);
    await until(async () => (await gauge('relay_http_buffered_bytes')) > 4 * MIB);
    expect(next.received()).toBe('');
  });

  it('may arrive in small pieces, which cost no more than their bytes, but end the connection in pieces of one byte', async () => {
    const key = await sourceKey('dripping');
    const headers = { 'content-type': 'application/x-ndjson', 'transfer-encoding': 'chunked', 'x-api-key': key };
    await open(head('POST', '/deliveries/batch', headers) + `50\r\n${' '.repeat(80)}\r\n`.repeat(4_000));
    await until(async () => (await gauge('relay_http_buffered_bytes')) >= 320_000);
    expect(await gauge('relay_http_buffered_bytes')).toBeLessThanOrEqual(640_000);
    const tiny = await open(head('POST', '/deliveries/batch', headers) + '1\r\n \r\n'.repeat(200_000));
    await until(tiny.isEnded);
    expect(tiny.received()).toBe('');
    // The parser of that connection goes to the next one, and takes bodies there.
    for (let n = 0; n < 20; n += 1) {
      const answer = await fetch(`${spec.url}/deliveries`, {
        method: 'POST',
        headers: { 'x-api-key': key },
        body: '{',
      });
      expect(answer.status).toBe(415);
    }
  });
});

describe('connections', () => {
  it('are at most MAX_CONNECTIONS: the oldest of nobody goes, a known caller stays and a new one comes in', async () => {
    const post = head('POST', '/deliveries', { 'x-api-key': await sourceKey('who stays'), 'content-length': 0 });
    const known = await open(post);
    await until(() => known.received().includes('HTTP/1.1 400 '));
    const all: Connection[] = [];
    for (let n = 0; n < 110; n += 1) all.push(await open(''));
    await until(() => all.filter((connection) => connection.isEnded()).length >= 11);
    expect(all.slice(0, 11).every((connection) => connection.isEnded())).toBe(true);
    expect(await gauge('relay_http_connections')).toBe(100);
    known.socket.write(post);
    await until(() => known.received().match(/HTTP\/1\.1 400 /g)?.length === 2);
    expect((await fetch(`${spec.url}/docs/errors`)).status).toBe(200);
    for (const { socket } of all) socket.destroy();
  });
});

describe('guesses at fixed credentials', () => {
  it('are 429 from a network with too many, cost Redis nothing, and lock nobody out', async () => {
    await until(async () => (await gauge('relay_http_connections')) < 40);
    const key = await sourceKey('in the same network');
    // Of 100 connections the oldest goes, perhaps one in use: the guesses need fewer.
    const dispatcher = new Agent({ connections: 40 });
    const post = async (guess: string): Promise<Response> => {
      const headers = { 'x-api-key': guess };
      const answer = await fetch(`${spec.url}/deliveries`, { method: 'POST', headers, dispatcher });
      await answer.arrayBuffer();
      return answer;
    };
    const commands = async (): Promise<number> =>
      Number(/total_commands_processed:(\d+)/.exec(await spec.app.get(Redis).info('stats'))?.[1]);
    const statuses = new Map<number, number>();
    let before = await commands();
    for (let guess = 0; guess < 5_000; guess += 50) {
      const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => post(`guess-${guess + n}`)));
      for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (guess === 500) before = await commands();
    }
    expect(statuses.get(429)).toBeGreaterThan(4_800);
    // Some 4,450 guesses came since. What keeps itself up to date asks in the meantime, more the longer they take.
    expect((await commands()) - before).toBeLessThan(1_000);
    const refused = await post('one-more');
    expect([refused.status, Number(refused.headers.get('retry-after'))]).toEqual([429, expect.any(Number)]);
    expect(refused.headers.get('ratelimit')).toContain('credential-network');
    await until(async () => (await post(key)).status === 400);
    await dispatcher.close();
  });
});

describe('a route that does not say who may call it', () => {
  @Controller('open')
  class OpenController {
    @Get()
    read(): string {
      return '';
    }
  }
  @Module({ controllers: [OpenController] })
  class OpenModule {}

  it('keeps the ingress from starting', async () => {
    await expect(startSpecApp([OpenModule as Type], aConfig(spec.redis.url()))).rejects.toThrow(
      '/open does not say who may',
    );
  });
});
