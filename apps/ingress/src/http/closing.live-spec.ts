import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
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
