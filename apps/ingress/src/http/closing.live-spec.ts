import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { startRedisServer, type RedisServer } from '@relay/testing';
import { OAuthModule } from '../oauth/oauth.module.js';
import { aConfig, startSpecApp } from './spec-app.js';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedisServer();
});
afterAll(() => redis?.stop());

const REQUEST = 'POST /auth/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n';

async function open(port: number): Promise<{ socket: Socket; received: () => string }> {
  let text = '';
  const socket = connect(port, '127.0.0.1');
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await once(socket, 'connect');
  return { socket, received: () => text };
}

it('answers what it has begun to read while it closes, and keeps no connection', async () => {
  const spec = await startSpecApp([OAuthModule], aConfig(redis.url()));
  const port = Number(new URL(spec.url).port);
  const [begun, half, idle] = [await open(port), await open(port), await open(port)];
  idle.socket.write(`${REQUEST}{}`);
  await once(idle.socket, 'data');
  begun.socket.write(REQUEST);
  half.socket.write(REQUEST.slice(0, 40));
  // One more round trip: the server has read the head of the request that came before.
  idle.socket.write(`${REQUEST}{}`);
  await once(idle.socket, 'data');

  const ended = [begun, half, idle].map(({ socket }) => once(socket, 'close'));
  const closed = spec.app.close();
  await once(idle.socket, 'close');
  await expect(fetch(spec.url)).rejects.toThrow();
  begun.socket.write('{}');
  half.socket.write(`${REQUEST.slice(40)}{}`);
  await closed;
  await Promise.all(ended);
  for (const { received } of [begun, half]) {
    expect(received()).toMatch(/^HTTP\/1.1 401 /);
    expect(received()).toContain('{"error":"invalid_client"');
  }
});

it('answers a request that was under way on an open connection when it began to close', async () => {
  const spec = await startSpecApp([OAuthModule], aConfig(redis.url()));
  const { socket, received } = await open(Number(new URL(spec.url).port));
  socket.write(`${REQUEST}{}`);
  await once(socket, 'data');
  const before = received().length;

  const ended = once(socket, 'close');
  const closed = spec.app.close();
  socket.write(`${REQUEST}{}`);
  await Promise.all([closed, ended]);
  expect(received().slice(before)).toMatch(/^HTTP\/1.1 401 [^]*connection: close/i);
});

it('does not wait for a connection that was opened and never used', async () => {
  const spec = await startSpecApp([OAuthModule], aConfig(redis.url()));
  const { socket } = await open(Number(new URL(spec.url).port));
  await Promise.all([spec.app.close(), once(socket, 'close')]);
});

describe('a server that was kept from its loop', () => {
  /** A client in a thread of its own, which goes on while this one stands still. */
  const CLIENT = `
    const { parentPort, workerData: { port, sent, request } } = require('node:worker_threads');
    let socket;
    let text = '';
    parentPort.on('message', (what) => {
      socket ??= require('node:net').connect(port, '127.0.0.1')
        .on('data', (chunk) => { text += chunk; })
        .on('error', (error) => { text += error.code; })
        .on('close', () => { parentPort.postMessage(text); parentPort.close(); });
      if (what === 'send') socket.write(request, () => { Atomics.store(sent, 0, 1); Atomics.notify(sent, 0); });
    });`;

  async function client(url: string) {
    const sent = new Int32Array(new SharedArrayBuffer(4));
    const port = Number(new URL(url).port);
    const worker = new Worker(CLIENT, { eval: true, workerData: { port, sent, request: `${REQUEST}{}` } });
    const received = once(worker, 'message').then(([text]) => String(text));
    await once(worker, 'online');
    return {
      /** All that came until the connection closed. */
      received,
      join: (): void => worker.postMessage('connect', []),
      /** Sends a request, and stands still until it is on its way and for so long. */
      sendMeanwhile: (ms: number): void => {
        worker.postMessage('send', []);
        expect(Atomics.wait(sent, 0, 0, 20_000)).not.toBe('timed-out');
        Atomics.wait(sent, 0, 1, ms);
      },
    };
  }

  it('answers a connection that waited to be accepted when it closes', async () => {
    const { app, url } = await startSpecApp([OAuthModule], aConfig(redis.url()));
    const { sendMeanwhile, received } = await client(url);
    sendMeanwhile(0);
    await app.close();
    expect(await received).toMatch(/^HTTP\/1.1 401 /);
  });

  it('answers the first request of a connection that came while it lingered and was not read yet', async () => {
    const { app, url } = await startSpecApp([OAuthModule], aConfig(redis.url()));
    const { join, sendMeanwhile, received } = await client(url);
    const server = app.getHttpServer();
    join();
    await once(server, 'connection');
    const closed = app.close();
    while (server.listening) await new Promise((resolve) => setImmediate(resolve));
    // It asks how many connections are open, then lingers for half a second.
    await new Promise((resolve) => setTimeout(resolve, 50));
    // After immediates come timers, and only then is read.
    await new Promise((resolve) => setImmediate(resolve));
    sendMeanwhile(1_000);
    await closed;
    expect(await received).toMatch(/^HTTP\/1.1 401 /);
  });
});
