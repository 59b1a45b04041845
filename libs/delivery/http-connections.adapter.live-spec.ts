import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { egressPolicy, guardedConnector } from '@relay/egress';
import { type HttpConnection, HttpConnections } from './http-connections.adapter.js';
import { HttpExchange, HttpSender, type HttpSenderSettings } from './http-sender.adapter.js';

const policy = egressPolicy({ ports: ['443'], allowHttp: true, allowCidrs: ['127.0.0.0/8'], denyCidrs: [] });

const LIMITS = {
  perOrigin: 64,
  keepAliveMs: 10_000,
  headBytes: 16_384,
  bodyBytes: 16_384,
  interimAnswers: 16,
  keptBytes: 9,
};

const REQUEST = {
  method: 'POST' as const,
  headers: { 'webhook-id': 'w' },
  body: Buffer.from('{}'),
  webhookId: 'w',
  partnerId: 'p',
};

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

type Answer = (response: ServerResponse, socket: Socket, nth: number) => void;
const ok: Answer = (response) => response.end('ok');

/** An endpoint whose answers know how many requests their connection has carried, this one included. */
const anEndpoint = async (answer: Answer) => {
  const seen = {
    url: '',
    connections: 0,
    open: 0,
    mostOpen: 0,
    requests: 0,
    closeAll: () => server.closeAllConnections(),
  };
  const carried = new Map<Socket, number>();
  const server = createServer({ keepAlive: true }, (request, response) => {
    const nth = (carried.get(request.socket) ?? 0) + 1;
    carried.set(request.socket, nth);
    request.resume().on('end', () => {
      seen.requests += 1;
      answer(response, request.socket, nth);
    });
  });
  server.keepAliveTimeout = 0; // no `Keep-Alive` hint: the sender cannot know when the connection ends
  server.on('connection', (socket: Socket) => {
    seen.connections += 1;
    seen.open += 1;
    seen.mostOpen = Math.max(seen.mostOpen, seen.open);
    socket.on('close', () => (seen.open -= 1));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  seen.url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`;
  return seen;
};

const aSender = (settings: HttpSenderSettings = {}) => {
  const sender = new HttpSender(guardedConnector(policy), { timeoutMs: 2_000, ...settings });
  closers.push(() => sender.close());
  const send = async (url: string, signal?: AbortSignal, partnerId = 'p'): Promise<unknown> => {
    const result = await sender.send({ ...REQUEST, url, partnerId }, signal);
    return result.kind === 'answered' ? result.status : result.error;
  };
  const sendMany = (count: number, url: string): Promise<unknown[]> =>
    Promise.all(Array.from({ length: count }, () => send(url)));
  return { sender, send, sendMany };
};

/** Sends over connections of which at most one is kept unused. */
const keepingOne = (): ((url: string) => Promise<unknown>) => {
  const connections = new HttpConnections(guardedConnector(policy), { ...LIMITS, maxIdle: 1 });
  closers.push(async () => connections.close());
  return (url) =>
    new Promise((resolve) => {
      const request = { ...REQUEST, url };
      new HttpExchange(connections, request, 2_000, undefined, resolve).begin();
    });
};

const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
};

describe('HttpConnections', () => {
  it('reuses the connection used last', async () => {
    const endpoint = await anEndpoint(ok);
    const { send } = aSender();
    for (let nth = 0; nth < 10; nth += 1) expect(await send(endpoint.url)).toBe(200);
    expect(endpoint).toMatchObject({ connections: 1, requests: 10 });
  });

  it('never shares a connection between partners, so that what one endpoint sends behind its answer reaches no other', async () => {
    const carried = new Map<Socket, string[]>();
    const server = createServer((request, response) => {
      carried.set(request.socket, [...(carried.get(request.socket) ?? []), `${request.url}`]);
      request.resume().on('end', () => response.end());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closers.push(async () => {
      server.closeAllConnections();
      server.close();
    });
    const address = server.address();
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
    const { send } = aSender();
    for (const partner of ['a', 'b', 'a', 'b']) expect(await send(`${url}/${partner}`, undefined, partner)).toBe(200);
    expect([...carried.values()]).toEqual([
      ['/a', '/a'],
      ['/b', '/b'],
    ]);
  });

  it('opens no more connections than allowed, and serves all waiting requests', async () => {
    const endpoint = await anEndpoint((response) => setTimeout(() => response.end(), 5));
    const { sendMany } = aSender({ connectionsPerOrigin: 3 });
    expect(new Set(await sendMany(30, endpoint.url))).toEqual(new Set([200]));
    expect(endpoint).toMatchObject({ mostOpen: 3, requests: 30 });
  });

  it('serves all waiting requests when every answer closes its connection', async () => {
    const endpoint = await anEndpoint((response) => response.setHeader('connection', 'close').end());
    const { sendMany } = aSender({ connectionsPerOrigin: 3 });
    expect(new Set(await sendMany(30, endpoint.url))).toEqual(new Set([200]));
    expect(endpoint).toMatchObject({ connections: 30, requests: 30 });
  });

  it('includes the wait for a connection in the deadline, and goes on afterwards', async () => {
    let isHanging = true;
    const endpoint = await anEndpoint((response) => isHanging || response.end());
    const { send, sendMany } = aSender({ connectionsPerOrigin: 1, timeoutMs: 200 });
    expect(await sendMany(3, endpoint.url)).toEqual(['timeout', 'timeout', 'timeout']);
    isHanging = false;
    expect(await send(endpoint.url)).toBe(200);
  });

  it('gives the place of a broken connection to a waiting request', async () => {
    const endpoint = await anEndpoint((_, socket) => socket.resetAndDestroy());
    const { sendMany } = aSender({ connectionsPerOrigin: 1 });
    expect(await sendMany(3, endpoint.url)).toEqual(['reset', 'reset', 'reset']);
    expect(endpoint).toMatchObject({ mostOpen: 1, requests: 3 });
  });

  it('sends nothing for an attempt that ended while it waited', async () => {
    const held: ServerResponse[] = [];
    const endpoint = await anEndpoint((response) => held.push(response));
    const { send } = aSender({ connectionsPerOrigin: 1 });
    const first = send(endpoint.url);
    await until(() => held.length === 1);
    const controller = new AbortController();
    const waiting = send(endpoint.url, controller.signal);
    controller.abort();
    expect(await waiting).toBe('unknown');
    held[0]?.end();
    expect(await first).toBe(200);
    const last = send(endpoint.url);
    await until(() => held.length === 2);
    held[1]?.end();
    expect(await last).toBe(200);
    expect(endpoint).toMatchObject({ connections: 1, requests: 2 });
  });

  it('closes a connection that stays unused', async () => {
    const endpoint = await anEndpoint(ok);
    const { send } = aSender({ keepAliveMs: 20 });
    expect(await send(endpoint.url)).toBe(200);
    await until(() => endpoint.open === 0);
    expect(await send(endpoint.url)).toBe(200);
    expect(endpoint.connections).toBe(2);
  });

  it('keeps no connection that its answer closed', async () => {
    const closing = await anEndpoint((response) => response.setHeader('connection', 'close').end());
    const kept = await anEndpoint(ok);
    const send = keepingOne();
    for (const url of [closing.url, kept.url, kept.url]) await send(url);
    expect(kept).toMatchObject({ connections: 1, requests: 2 });
  });

  it('keeps no connection that was lost while it rested', async () => {
    const connections = new HttpConnections(guardedConnector(policy), { ...LIMITS, maxIdle: 1 });
    const taken: HttpConnection[] = [];
    const take = (): void =>
      connections.take('p', 'http://127.0.0.1:1', { settled: false, start: (one) => taken.push(one) });
    take();
    for (const connection of taken) {
      connections.giveBack(connection);
      connection.destroy();
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
    take();
    expect(taken[1]).not.toBe(taken[0]);
    taken.slice(1).forEach((connection) => connections.drop(connection));
  });

  it('keeps a bounded number of unused connections in all, those used last, without counting lost ones', async () => {
    const first = await anEndpoint(ok);
    const second = await anEndpoint(ok);
    const send = keepingOne();
    await send(first.url);
    await send(second.url);
    await until(() => first.open + second.open === 1);
    // Whoever came first must not keep all of them from the others.
    expect([first.open, second.open]).toEqual([0, 1]);
    second.closeAll();
    await until(() => second.open === 0);
    await send(first.url);
    await send(first.url);
    expect(first).toMatchObject({ connections: 2, requests: 3 });
  });

  it.each<[string, (socket: Socket) => void]>([
    ['closed', (socket) => socket.destroy()],
    ['reset', (socket) => socket.resetAndDestroy()],
  ])('sends once more on a new connection when a kept one is %s before any answer', async (_, end) => {
    const endpoint = await anEndpoint((response, socket, nth) => (nth === 1 ? response.end() : end(socket)));
    const { send, sendMany } = aSender();
    await sendMany(5, endpoint.url); // five kept connections, all stale: a second stale one must not be tried
    expect(await send(endpoint.url)).toBe(200);
    expect(endpoint).toMatchObject({ connections: 6, requests: 7 });
  });

  it('does not repeat on a new connection, nor when the answer had begun', async () => {
    const { send } = aSender();
    const rude = await anEndpoint((_, socket) => socket.destroy());
    expect(await send(rude.url)).toBe('reset');
    expect(rude).toMatchObject({ connections: 1, requests: 1 });
    const torn = await anEndpoint((response, socket, nth) =>
      nth === 1 ? response.end() : socket.end('HTTP/1.1 200 OK\r\nx: '),
    );
    expect([await send(torn.url), await send(torn.url)]).toEqual([200, 'reset']);
    expect(torn).toMatchObject({ connections: 1, requests: 2 });
  });

  it.each<[string, number, (socket: Socket) => void]>([
    ['closes', 1, (socket) => socket.end()],
    ['closes', 20, (socket) => socket.end()],
    ['resets', 1, (socket) => setTimeout(() => socket.resetAndDestroy(), 1)],
    ['resets', 20, (socket) => setTimeout(() => socket.resetAndDestroy(), 1)],
  ])('delivers once to an endpoint that %s right behind its answer, %i at a time', async (_, atATime, end) => {
    const endpoint = await anEndpoint((response, socket) => response.end('ok', () => end(socket)));
    const { sendMany } = aSender({ connectionsPerOrigin: 4, timeoutMs: 60_000 });
    for (let sent = 0; sent < 200; sent += atATime)
      expect(new Set(await sendMany(atATime, endpoint.url))).toEqual(new Set([200]));
    expect(endpoint.requests).toBe(200);
  });

  it.each([200, 500])(
    'keeps of an answer with %i its head and the beginning of its body, or nothing',
    async (status) => {
      const endpoint = await anEndpoint((response) =>
        response.writeHead(status, { 'content-type': 'text/plain' }).end(`said ${status}`),
      );
      const [keeping, other] = [aSender({ keepsAnswers: true }), aSender()];
      const request = { ...REQUEST, url: endpoint.url };
      const kept = await keeping.sender.send(request);
      const answer = kept.kind === 'answered' ? kept.answer : undefined;
      expect(answer?.bytes().toString()).toBe(`said ${status}`);
      expect(answer).toMatchObject({
        contentType: 'text/plain',
        head: expect.stringMatching(/^HTTP\/1\.1 .*\r\n.*Date: /s),
      });
      expect(await other.sender.send(request)).not.toHaveProperty('answer');
    },
  );

  it('waits at close for running requests, closes every connection, and sends no more', async () => {
    const endpoint = await anEndpoint((response) => setTimeout(() => response.end(), 50));
    const { sender, send, sendMany } = aSender();
    const running = sendMany(3, endpoint.url);
    await until(() => endpoint.requests === 3);
    await Promise.all([sender.close(), sender.close()]);
    expect(await running).toEqual([200, 200, 200]);
    await until(() => endpoint.open === 0);
    expect(await send(endpoint.url)).toBe('unknown');
    expect(endpoint.requests).toBe(3);
  });
});
