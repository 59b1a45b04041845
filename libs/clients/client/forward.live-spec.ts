import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { forward } from './forward-deliveries.js';

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

  it.each([{ status: 500 }, { status: 302, headers: { location: 'http://127.0.0.1:1/' } }])(
    'tells of %j and follows nothing',
    async (given) => {
      answer = given;
      expect(await forward(url, headers, body)).toEqual({ status: given.status });
      expect(got).toHaveLength(1);
    },
  );

  it('says that nobody listens', async () => {
    const nowhere = await forward(new URL('http://127.0.0.1:1/'), headers, body);
    expect(nowhere).toEqual({ unforwarded: expect.stringMatching(/^http:\/\/127\.0\.0\.1:1 cannot be reached/) });
  });
});
