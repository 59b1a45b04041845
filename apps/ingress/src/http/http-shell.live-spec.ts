import type { Server as HttpServer } from 'node:http';
import { connect } from 'node:net';
import { Controller, Get, HttpCode, Module, Post, Req } from '@nestjs/common';
import { AccessTokens } from '@relay/access';
import { Registry } from 'prom-client';
import { z } from 'zod';
import { Access, IgnoresUnknown, StrictBody, TakesBody, type Body, type FastifyRequest } from '@relay/http';
import { ErrorsModule } from '../documents/documents.module.js';
import { appOfSpec } from './spec-app.js';

const Members = z.record(z.string(), z.unknown());
const Thing = z.strictObject({ name: z.string(), size: z.number().max(3).optional() });

@Controller('things')
@Access({ kind: 'public' })
class ThingsController {
  @Get()
  list(@Req() request: FastifyRequest): Record<string, unknown> {
    return { body: request.rawBody?.toString() ?? null, same: request.body === request.rawBody, ip: request.ip };
  }

  @Post()
  @Access({ kind: 'bearer', scopes: [] })
  @HttpCode(200)
  add(@StrictBody(Thing) body: Body<z.infer<typeof Thing>>): unknown {
    return body();
  }

  @Post(':id/lines')
  @IgnoresUnknown()
  @TakesBody({ types: ['application/x-ndjson', 'application/json'], maxBytes: 1_000 })
  lines(@Req() request: FastifyRequest): Record<string, unknown> {
    return { bytes: request.rawBody?.length ?? 0 };
  }

  @Get('broken')
  broken(): never {
    throw new TypeError('secret reason in /srv/file.js');
  }
}

@Module({ controllers: [ThingsController] })
class ThingsModule {}

const spec = await appOfSpec([ErrorsModule, ThingsModule], { TRUST_PROXY: '1' });
beforeAll(async () => {
  const { clientId } = await spec.clients.createPartner('p');
  json['authorization'] = `Bearer ${await spec.app.get(AccessTokens).issue(clientId, [])}`;
});

const call = async (
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: string | Buffer,
): Promise<{ response: Response; json: Record<string, unknown> }> => {
  const init = { method, headers, ...(body === undefined ? {} : { body: new Uint8Array(Buffer.from(body)) }) };
  const response = await fetch(spec.url + path, init);
  return { response, json: Members.parse(await response.json()) };
};
/** Of a partner's request. */
const json: Record<string, string> = { 'content-type': 'application/json' };
const authorized = (raw: string): string => raw.replace('\r\n', `\r\nAuthorization: ${json['authorization']}\r\n`);
const head = 'Host: relay.example\r\nConnection: close\r\n';

/** The problem in a raw answer. */
const problemIn = (answer: string): Record<string, unknown> => {
  expect(answer.toLowerCase()).toContain('content-type: application/problem+json\r\n');
  return Members.parse(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)));
};

describe('a body', () => {
  it('comes with GET as the bytes sent', async () => {
    const answer = await spec.raw(
      `GET /things HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n{"a":1.0}`,
    );
    expect(answer).toContain('{"body":"{\\"a\\":1.0}","same":true');
  });

  it.each([
    ['no header about it', ''],
    ['a JSON content type', 'Content-Type: application/json\r\n'],
    ['a JSON content type and length 0', 'Content-Type: application/json\r\nContent-Length: 0\r\n'],
    ['length 0', 'Content-Length: 0\r\n'],
    ['another content type', 'Content-Type: text/plain\r\nContent-Length: 0\r\n'],
    ['chunks of nothing', 'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n'],
    ['chunks of nothing and no type', 'Transfer-Encoding: chunked\r\n'],
    ['chunks of nothing and another type', 'Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\n'],
  ])('may be empty with %s', async (_name, headers) => {
    const end = headers.includes('chunked') ? '0\r\n\r\n' : '';
    const answer = await spec.raw(`POST /things/1/lines HTTP/1.1\r\n${head}${headers}\r\n${end}`);
    expect(answer).toMatch(/^HTTP\/1.1 201 /);
    expect(answer).toContain('{"bytes":0}');
  });

  it.each([
    ['of a type that the route names', 'application/x-ndjson', 201],
    ['of that type with parameters', 'Application/JSON; charset=utf-8', 201],
    ['of another type', 'text/plain', 415],
    ['of a malformed type', 'json', 415],
  ])('is taken or refused when %s', async (_name, type, status) => {
    expect((await call('POST', '/things/1/lines', { 'content-type': type }, '{}')).response.status).toBe(status);
  });

  it('is refused without a content type', async () => {
    const answer = await spec.raw(`POST /things HTTP/1.1\r\n${head}Content-Length: 2\r\n\r\n{}`);
    expect(problemIn(answer)).toMatchObject({ status: 415, title: 'Unsupported media type' });
  });

  it('is refused with a content encoding', async () => {
    const { response, json: problem } = await call('POST', '/things', { ...json, 'content-encoding': 'gzip' }, '{}');
    expect(problem).toMatchObject({ status: 415 });
    expect(response.headers.get('accept-encoding')).toBe('identity');
  });

  it.each([
    ['the default of 64 KiB', '/things', 64 * 1024, 200],
    ['more than the default', '/things', 64 * 1024 + 1, 413],
    ["the route's own limit", '/things/1/lines', 1_000, 201],
    ["more than the route's own limit", '/things/1/lines', 1_001, 413],
  ])('is taken or refused by its length: %s', async (_name, path, bytes, status) => {
    const body = `{"name":"${'x'.repeat(bytes - 11)}"}`;
    const { response } = await call('POST', path, json, body);
    expect(response.status).toBe(status);
  });

  const long = 'x'.repeat(8 * 1024 * 1024);
  it.each([
    ['its length', `Content-Length: ${long.length}\r\n\r\n${long}`],
    ['chunks', `Transfer-Encoding: chunked\r\n\r\n800000\r\n${long}\r\n0\r\n\r\n`],
  ])('too large by %s is answered while it is still being sent, and the connection goes on', async (_name, rest) => {
    const start = 'POST /things HTTP/1.1\r\nHost: relay.example\r\nContent-Type: application/json\r\n';
    const answers = await spec.raw(`${authorized(start)}${rest}GET /things HTTP/1.1\r\n${head}\r\n`);
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200']);
  });

  it('sent in chunks is limited too', async () => {
    const chunk = `800\r\n${'x'.repeat(2_048)}\r\n`;
    const answer = await spec.raw(
      `POST /things/1/lines HTTP/1.1\r\n${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}0\r\n\r\n`,
    );
    expect(problemIn(answer)).toMatchObject({ status: 413 });
  });

  it.each([
    ['no JSON', '{', 'malformed-json', ''],
    ['a name twice', '{"name":"a","name":"b"}', 'malformed-json', expect.any(String)],
    ['a member of another type', '{"name":1}', 'invalid-body', '/name'],
    ['a missing member', '{}', 'invalid-body', '/name'],
    ['a member too large', '{"name":"a","size":4}', 'invalid-body', '/size'],
    ['an unknown member', '{"name":"a","a/b":4}', 'invalid-body', '/a~1b'],
  ])('with %s is refused by member', async (_name, body, code, pointer) => {
    const { json: problem } = await call('POST', '/things', json, body);
    expect(problem).toMatchObject({ status: 400, type: `https://relay.example/docs/errors#${code}` });
    expect(problem['errors']).toEqual([{ pointer, detail: expect.any(String) }]);
  });
});

describe('an error', () => {
  it('is a problem with all members and the request id', async () => {
    const { response, json: problem } = await call('GET', '/nowhere?secret=1', { 'x-request-id': 'abc-1' });
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(response.headers.get('x-request-id')).toBe('abc-1');
    expect(problem).toEqual({
      type: 'https://relay.example/docs/errors#not-found',
      title: 'Not found',
      status: 404,
      detail: 'There is no such path: the OpenAPI document lists all.',
      instance: '/nowhere',
      requestId: 'abc-1',
    });
  });

  it.each(['', 'a b', 'x'.repeat(129), 'ü'])('makes a request id in place of %j', async (given) => {
    const answer = await spec.raw(
      Buffer.from(`GET /nowhere HTTP/1.1\r\n${head}x-request-id: ${given}\r\n\r\n`, 'latin1'),
    );
    expect(problemIn(answer)['requestId']).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
  });

  it.each([
    ['DELETE', '/things', 'GET, HEAD, POST'],
    ['PUT', '/things/7/lines?x=1', 'POST'],
    ['OPTIONS', '/things', 'GET, HEAD, POST'],
    ['PROPFIND', '/things', 'GET, HEAD, POST'],
    ['QUERY', '/things', 'GET, HEAD, POST'],
  ])('for %s %s names the methods of the path', async (method, path, allow) => {
    const { response, json: problem } = await call(method, path);
    expect(problem).toMatchObject({ status: 405, title: 'Method not allowed' });
    expect(response.headers.get('allow')).toBe(allow);
  });

  it.each([
    ['a malformed escape', 'GET /things/%zz HTTP/1.1', '', 400],
    ['a parameter too long', `POST /things/${'x'.repeat(301)}/lines HTTP/1.1`, '', 414],
    ['no HTTP', 'GARBAGE', '', 400],
    ['a header without a colon', 'GET /things HTTP/1.1', 'nonsense\r\n', 400],
    ['two lengths', 'POST /things HTTP/1.1', 'Content-Length: 1\r\nContent-Length: 2\r\n', 400],
    ['headers too large', 'GET /things HTTP/1.1', `x: ${'y'.repeat(20_000)}\r\n`, 431],
    ['a path nobody has', 'GET /..%2f..%2fetc HTTP/1.1', '', 404],
    ['an unknown expectation on a wrong path', 'GET /nowhere HTTP/1.1', 'Expect: miracles\r\n', 404],
  ])('for %s is a problem too', async (_name, line, headers, status) => {
    const answer = await spec.raw(`${line}\r\n${head}${headers}\r\n`);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    const problem = problemIn(answer);
    expect(Object.keys(problem)).toEqual(['type', 'title', 'status', 'detail', 'instance', 'requestId']);
    expect(problem).toMatchObject({ status });
    expect(JSON.stringify(problem)).not.toMatch(/fastify|fst_|nest|node|\.js/i);
  });

  it.each(['Host: other.example', 'Authorization: Basic YTpi\r\nAUTHORIZATION: Basic YTpj'])(
    'that says twice who it is for, or from, is a problem: %s',
    async (twice) => {
      expect(await spec.raw(`GET /things HTTP/1.1\r\n${twice}\r\n${head}\r\n`)).toMatch(
        /^HTTP\/1\.1 400 .*more than one header/s,
      );
    },
  );

  it('without a Host is a problem too', async () => {
    expect(problemIn(await spec.raw('GET /things HTTP/1.1\r\nConnection: close\r\n\r\n'))).toMatchObject({
      status: 400,
    });
  });

  it('reveals no internals when a handler throws', async () => {
    const { json: problem } = await call('GET', '/things/broken');
    expect(problem).toMatchObject({ status: 500, detail: 'The relay failed to answer.' });
    expect(JSON.stringify(problem)).not.toMatch(/secret|srv|TypeError/);
  });
});

describe('every answer', () => {
  it.each(['/things', '/nowhere', '/things/%zz'])('to %s has the headers that restrict a browser', async (path) => {
    const answer = await spec.raw(`GET ${path} HTTP/1.1\r\n${head}\r\n`);
    for (const header of [
      'cache-control: no-store',
      'x-content-type-options: nosniff',
      "content-security-policy: default-src 'none'; frame-ancestors 'none'",
      'strict-transport-security: max-age=31536000',
      'x-request-id: ',
    ])
      expect(answer.toLowerCase()).toContain(header);
  });

  it('knows the client behind one proxy', async () => {
    const { json: answer } = await call('GET', '/things', { 'x-forwarded-for': '203.0.113.9, 198.51.100.7' });
    expect(answer['ip']).toBe('198.51.100.7');
  });
});

describe('a client that is too slow', () => {
  let server: HttpServer;
  let usual: [head: number, whole: number];
  beforeAll(() => {
    server = spec.app.getHttpServer();
    usual = [server.headersTimeout, server.requestTimeout];
    [server.headersTimeout, server.requestTimeout] = [400, 800];
  });
  afterAll(() => ([server.headersTimeout, server.requestTimeout] = usual));

  it('has 10 s for the head of a request and 30 s for all of it', () => {
    expect(usual).toEqual([10_000, 30_000]);
  });

  it.each([
    ['its head', `POST /things HTTP/1.1\r\n${head}x-a: `],
    [
      'its body',
      `POST /things HTTP/1.1\r\n${head}content-type: application/json\r\ncontent-length: 9999\r\n\r\n{"a":"`,
    ],
  ])('with %s gets a 408 and the end of its connection, and holds up nobody', async (_, begins) => {
    const socket = connect(Number(new URL(spec.url).port), '127.0.0.1', () => socket.write(authorized(begins)));
    const dripping = setInterval(() => socket.write('x'), 50);
    let answer = '';
    socket.setEncoding('latin1').on('data', (text: string) => (answer += text));
    socket.on('error', () => undefined); // what drips meets a closed connection
    const closed = new Promise((resolve) => socket.on('close', resolve));
    expect((await call('GET', '/things')).response.status).toBe(200);
    await closed;
    clearInterval(dripping);
    expect(problemIn(answer)).toMatchObject({ status: 408, detail: expect.stringContaining('in time') });
  });
});

describe('the durations of requests', () => {
  it('are told by route and answer, never by what a caller put into the path', async () => {
    await call('POST', '/things/secret-1/lines', { 'content-type': 'application/json' }, '{}');
    await call('GET', '/things/secret-2/nothing');
    const told = await spec.app.get<Registry>(Registry).metrics();
    const counted = (method: string, route: string, status: number): string =>
      `http_server_request_duration_seconds_count{http_request_method="${method}",http_route="${route}",http_response_status_code="${status}"}`;
    expect(told).toContain(`${counted('POST', '/things/:id/lines', 201)} `);
    expect(told).toContain(`${counted('GET', 'unknown', 404)} `);
    expect(told).not.toContain('secret-');
  });
});
