import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { EventType } from '@relay/events';
import type { Headers } from './arrival.js';
import { forward } from './forward.adapter.js';
import { Listener } from './listener.adapter.js';

const body = Buffer.from('{"a":1.10,\u0000"b":"ü"}');
const headers = { 'content-type': 'application/json', 'webhook-id': 'e', 'x-api-key': 'k', te: 'trailers' };

let target: Server;
let url: URL;
let got: { method: string; headers: IncomingHttpHeaders; body: Buffer }[];
let answer: { status: number; headers?: Record<string, string> };
beforeAll(async () => {
  target = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => {
        got.push({ method: request.method ?? '', headers: request.headers, body: Buffer.concat(chunks) });
        response.writeHead(answer.status, answer.headers).end('said');
      });
  });
  target.listen(0, '127.0.0.1');
  await once(target, 'listening');
  url = new URL(`http://127.0.0.1:${(target.address() as AddressInfo).port}/hook?x=1`);
});
beforeEach(() => {
  got = [];
  answer = { status: 204 };
});
afterAll(() => {
  target.close();
  target.closeAllConnections();
});

describe('forward', () => {
  it('sends the same bytes and headers on, but for those of the connection', async () => {
    expect(await forward(url, headers, body)).toEqual({ status: 204 });
    const { te: _te, ...same } = headers;
    expect(got).toEqual([{ method: 'POST', headers: expect.objectContaining(same), body }]);
    expect(got[0]?.headers).toMatchObject({ host: url.host });
    expect(got[0]?.headers).not.toHaveProperty('te');
  });

  it.each([
    [{ status: 500 }, { status: 500 }],
    [{ status: 302, headers: { location: 'http://127.0.0.1:1/' } }, { status: 302 }],
    [
      { status: 503, headers: { 'retry-after': '7' } },
      { status: 503, retryAfter: '7' },
    ],
  ])('gives %j back and follows nothing', async (given, expected) => {
    answer = given;
    expect(await forward(url, headers, body)).toEqual(expected);
    expect(got).toHaveLength(1);
  });

  it('says that nobody listens', async () => {
    const nowhere = await forward(new URL('http://127.0.0.1:1/'), headers, body);
    expect(nowhere).toEqual({
      status: 502,
      fault: expect.stringMatching(/^http:\/\/127\.0\.0\.1:1 cannot be reached/),
    });
  });
});

describe('Listener', () => {
  let listener: Listener;
  let received: [EventType, Headers, Buffer][];
  beforeEach(async () => {
    received = [];
    listener = await Listener.open(0, async (...request) => {
      received.push(request);
      return { status: 503, retryAfter: '3' };
    });
  });

  it('takes each type on its own path and answers as it is told', async () => {
    const address = listener.url('plan.created');
    const response = await fetch(address, { method: 'POST', headers, body });
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '3']);
    expect(received).toEqual([['plan.created', expect.objectContaining({ 'webhook-id': 'e' }), body]]);
    await listener.close();
    await expect(fetch(address, { method: 'POST', body })).rejects.toThrow();
  });

  it('takes nothing else', async () => {
    const paths = ['/', '/plan.created', `${new URL(listener.url('plan.created')).pathname}x`];
    const answers = await Promise.all([
      ...paths.map((path) => fetch(listener.origin + path, { method: 'POST', body })),
      fetch(listener.url('plan.created')),
    ]);
    expect([answers.map(({ status }) => status), received]).toEqual([[404, 404, 404, 404], []]);
    await listener.close();
  });

  it('says that a port is taken', async () => {
    await expect(Listener.open(Number(url.port), async () => ({ status: 200 }))).rejects.toThrow('EADDRINUSE');
    await listener.close();
  });
});
