import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { egressPolicy, guardedConnector } from '@relay/egress';
import { HttpSender } from './http-sender.adapter.js';
import type { AttemptResult } from './outcome.js';

const pem = execFileSync(
  'openssl',
  [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-keyout',
    '-',
    '-days',
    '1',
  ].concat(['-subj', '/CN=test', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:hooks.example']),
  { encoding: 'utf8', stdio: 'pipe' },
);

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

async function portOf(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(async () => server.closeAllConnections());
  const address = server.address();
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}

function aSender(
  options: Parameters<typeof guardedConnector>[1] = {},
  { connectionsPerOrigin = 64, port = 443 } = {},
): (url: string) => Promise<AttemptResult> {
  const ports = ['443', String(port)];
  const policy = egressPolicy({ ports, allowHttp: true, allowCidrs: ['127.0.0.0/8'], denyCidrs: [] });
  const sender = new HttpSender(guardedConnector(policy, options), { timeoutMs: 10_000, connectionsPerOrigin });
  closers.push(() => sender.close());
  const request = { method: 'POST', headers: {}, body: Buffer.from('{}'), webhookId: 'w', partnerId: 'p' } as const;
  return (url) => sender.send({ ...request, url });
}

const failing = (_: unknown, response: ServerResponse): void => void response.writeHead(500).end();

it('tells of a failed attempt what its time went into, and less of one on a kept connection', async () => {
  const port = await portOf(createTlsServer({ key: pem, cert: pem }, failing));
  const resolve = async () => {
    await delay(60);
    return [{ address: '127.0.0.1', family: 4 }];
  };
  const send = aSender({ ca: pem, resolve }, { port });
  const { timing, durationMs } = await send(`https://hooks.example:${port}/`);
  const { dnsMs = -1, connectMs = -1, tlsMs = -1, firstByteMs = -1, waitMs = -1 } = timing ?? {};
  expect(timing?.reused).toBe(false);
  expect(dnsMs).toBeGreaterThanOrEqual(55);
  expect(Math.min(connectMs, tlsMs, firstByteMs, waitMs)).toBeGreaterThanOrEqual(0);
  // Each is rounded, so the sum of five may exceed the duration by 3 ms.
  expect(waitMs + dnsMs + connectMs + tlsMs + firstByteMs).toBeLessThanOrEqual(durationMs + 3);
  const again = await send(`https://hooks.example:${port}/`);
  expect(again.timing).toEqual({ reused: true, waitMs: expect.any(Number), firstByteMs: expect.any(Number) });
});

it('tells nothing of a good attempt, unless it lasts a second', async () => {
  let waitMs = 0;
  const port = await portOf(
    createServer((_, response) => {
      response.writeHead(200).write('a');
      setTimeout(() => response.end('b'), waitMs);
    }),
  );
  const send = aSender();
  expect(await send(`http://127.0.0.1:${port}/`)).not.toHaveProperty('timing');
  waitMs = 1_100;
  const { timing, durationMs } = await send(`http://127.0.0.1:${port}/`);
  expect(timing).toMatchObject({ reused: true });
  // The head came at once, the end of the body did not.
  expect(timing?.firstByteMs).toBeLessThan(durationMs - 900);
});

it('leaves out the steps that did not end', async () => {
  const never = (): Promise<never> => new Promise(() => {});
  const send = aSender({ resolve: never, connectTimeoutMs: 50 });
  expect((await send('https://hooks.example/')).timing).toEqual({ reused: false, waitMs: expect.any(Number) });
  const port = await portOf(createServer(() => undefined));
  const toNobody = aSender({ ca: pem, connectTimeoutMs: 50 });
  expect((await toNobody(`https://127.0.0.1:${port}/`)).timing).toEqual({
    reused: false,
    waitMs: expect.any(Number),
    connectMs: expect.any(Number),
  });
});

it('tells the wait for a connection', async () => {
  const port = await portOf(createServer((_, response) => setTimeout(() => response.writeHead(500).end(), 100)));
  const send = aSender({}, { connectionsPerOrigin: 1 });
  const both = await Promise.all([1, 2].map(() => send(`http://127.0.0.1:${port}/`)));
  const waits = both.map(({ timing }) => timing?.waitMs ?? -1);
  expect(Math.min(...waits)).toBeLessThan(Math.max(...waits) - 50);
});
