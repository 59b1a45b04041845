import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { afterEach, describe, expect, it } from '@jest/globals';
import { egressPolicy, guardedConnector, type ResolveAll } from '@relay/egress';
import { reachOf, type AttemptResult } from './outcome.js';
import {
  anEndpoint,
  aRequest,
  aSender,
  closeAll,
  closers,
  empty,
  errorOf,
  listen,
  OK,
  settings,
  until,
} from './spec-raw-endpoint.js';

afterEach(closeAll);

/** Writes the text again and again, a piece every 10 ms, until the connection closes. */
const drip = (socket: Socket, piece: string): void => {
  const timer = setInterval(() => socket.write(piece), 10);
  socket.on('close', () => clearInterval(timer));
};

/** A self-signed certificate for 127.0.0.1 and its key. */
const aCertificate = (key: readonly string[] = []): string => {
  const kind = key.length > 0 ? key : ['ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  const request = ['req', '-x509', '-newkey', ...kind, '-nodes', '-keyout', '-', '-subj', '/CN=test', '-days', '1'];
  const more = ['-addext', 'subjectAltName=IP:127.0.0.1'];
  return execFileSync('openssl', [...request, ...more], { encoding: 'utf8', stdio: 'pipe' });
};

const ended = (result: AttemptResult): string => `${errorOf(result)}, ${reachOf(result)}`;

describe('HttpSender', () => {
  it('sends method, path, headers and body unchanged', async () => {
    const endpoint = await anEndpoint((socket) => socket.write(OK));
    const result = await aSender().send(aRequest(endpoint.url));
    expect(result).toEqual({ kind: 'answered', status: 200, durationMs: expect.any(Number) });
    expect(endpoint.requests).toEqual([
      `POST /hook?x=1 HTTP/1.1\r\nhost: ${new URL(endpoint.url).host}\r\nconnection: keep-alive\r\n` +
        `content-type: application/json\r\nwebhook-id: w1\r\ncontent-length: 10\r\n\r\n{"a":1.10}`,
    ]);
  });

  it.each([
    [204, 'HTTP/1.1 204 No Content\r\n\r\n', {}],
    [302, empty(302, 'location: /elsewhere'), {}],
    [307, empty(307, 'location: http://127.0.0.1:1/'), {}],
    [410, empty(410), {}],
    [429, empty(429, 'Retry-After: 120'), { retryAfter: '120' }],
    [503, empty(503, 'retry-after: 1', 'retry-after: 2'), { retryAfter: '1' }],
    [429, empty(429, `retry-after: ${'9'.repeat(5_000)}`), { retryAfter: '9'.repeat(64) }],
    [200, `${'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(16)}${OK}`, {}],
    [200, 'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nbad', {}],
  ])('reports the status %i and follows nothing', async (status, answer, more) => {
    const endpoint = await anEndpoint((socket) => socket.write(answer));
    const result = { ...(await aSender().send(aRequest(endpoint.url))), timing: undefined };
    expect(result).toEqual({ kind: 'answered', status, durationMs: expect.any(Number), ...more });
    expect(endpoint.requests).toHaveLength(1);
  });

  it('gives an attempt the time that its request names', async () => {
    const endpoint = await anEndpoint(() => {});
    const sender = aSender({ timeoutMs: 60_000 });
    expect(await sender.send({ ...aRequest(endpoint.url), timeoutMs: 50 })).toMatchObject({
      error: 'timeout',
      detail: 'no answer within 50 ms',
    });
  });

  it.each([10, 20_000])('reads no more than 16 KiB of a body, in pieces of %i bytes', async (bytes) => {
    const endpoint = await anEndpoint((socket) => {
      socket.write('HTTP/1.1 202 x\r\n\r\n');
      const more = (): unknown => socket.destroyed || socket.write('b'.repeat(bytes), () => setImmediate(more));
      more();
    });
    expect(errorOf(await aSender({ timeoutMs: 60_000 }).send(aRequest(endpoint.url)))).toBe('202');
    await until(() => endpoint.open === 0);
  });

  it.each<[string, string, (socket: Socket) => void]>([
    ['closes early', 'content-length: 9', (socket) => socket.end('ab')],
    ['is reset', 'content-length: 9', (socket) => socket.resetAndDestroy()],
    ['never comes', 'content-length: 9', () => {}],
    ['comes a byte at a time', 'x: y', (socket) => drip(socket, 'b')],
    ['is broken', 'transfer-encoding: chunked', (socket) => socket.write('zz\r\n')],
    ['is 1 MB', 'content-length: 1000000', (socket) => socket.write('b'.repeat(1_000_000))],
    ['is endless', 'x: y', (socket) => drip(socket, 'b'.repeat(10_000))],
    [
      'has endless trailers',
      'transfer-encoding: chunked',
      (socket) => drip(socket.setNoDelay(), `0\r\n${'a: b\r\n'.repeat(5_000)}`),
    ],
  ])('counts a status although its body %s, and drops the connection', async (_, header, body) => {
    const endpoint = await anEndpoint((socket) => {
      socket.write(`HTTP/1.1 201 x\r\n${header}\r\n\r\n`);
      setTimeout(body, 20, socket);
    });
    const result = await aSender().send(aRequest(endpoint.url));
    expect(errorOf(result)).toBe('201');
    await until(() => endpoint.open === 0);
    expect(endpoint.requests).toHaveLength(1);
  });

  it.each<[string, string, (socket: Socket) => void]>([
    ['timeout, silent', 'never answers', () => {}],
    [
      'timeout, answered',
      'sends its head a byte at a time',
      (socket) => socket.write('HTTP/1.1 200 OK\r\nx: ') && drip(socket, 'y'),
    ],
    ['timeout, answered', 'sends an interim response and no more', (socket) => socket.write('HTTP/1.1 103 x\r\n\r\n')],
    ['reset, silent', 'closes', (socket) => socket.end()],
    ['reset, answered', 'closes within the head', (socket) => socket.end('HTTP/1.1 200 OK\r\nx: y')],
    ['reset, silent', 'resets', (socket) => socket.resetAndDestroy()],
    ['protocol, answered', 'speaks no HTTP', (socket) => socket.write('220 mail.example ESMTP\r\n')],
    [
      'protocol, answered',
      'sends 10,000 headers',
      (socket) => socket.write(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(10_000)}`),
    ],
    [
      'protocol, answered',
      'sends a header of 20 kB',
      (socket) => socket.write(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}`),
    ],
    ['protocol, answered', 'floods interim responses', (socket) => drip(socket, 'HTTP/1.1 102 x\r\n\r\n'.repeat(20))],
  ])('fails by %s when the endpoint %s', async (expected, _, answer) => {
    const endpoint = await anEndpoint(answer);
    const result = await aSender().send(aRequest(endpoint.url));
    expect(ended(result)).toBe(expected);
    await until(() => endpoint.open === 0);
    expect(endpoint.requests).toHaveLength(1);
  });

  it('fails by refused at a closed port', async () => {
    const server = createServer();
    const { url } = await listen(server);
    await new Promise((resolve) => server.close(resolve));
    expect(ended(await aSender().send(aRequest(url)))).toBe('refused, unreached');
  });

  it('ends at most eight attempts in one turn of the event loop when many began together', async () => {
    const endpoint = await listen(createServer());
    const sender = aSender();
    let turn = 0;
    let isOver = false;
    const count = (): void => {
      turn += 1;
      if (!isOver) setImmediate(count);
    };
    count();
    const turns = await Promise.all(
      Array.from({ length: 40 }, async () => [errorOf(await sender.send(aRequest(endpoint.url))), turn] as const),
    );
    isOver = true;
    expect(new Set(turns.map(([error]) => error))).toEqual(new Set(['timeout']));
    const together = turns.map(([, at]) => turns.filter((other) => other[1] === at).length);
    expect(Math.max(...together)).toBeLessThanOrEqual(8);
  });

  it('fails by dns, connect-timeout and egress-denied before any connection', async () => {
    const resolve = async (addresses: string[], code?: string): Promise<string> => {
      const answer: ResolveAll = async () => {
        if (code === 'silent') await new Promise(() => {});
        if (code !== undefined) throw Object.assign(new Error(code), { code, syscall: 'queryA' });
        return addresses.map((address) => ({ address, family: 4 }));
      };
      const by = guardedConnector(egressPolicy(settings), { resolve: answer, connectTimeoutMs: 50 });
      return ended(await aSender({ timeoutMs: 5_000 }, by).send(aRequest('https://hooks.example.com/')));
    };
    expect(await resolve([], 'ENOTFOUND')).toBe('dns, unreached');
    expect(await resolve([], 'ETIMEOUT')).toBe('dns, unreached');
    expect(await resolve([], 'ECONNREFUSED')).toBe('dns, unreached');
    expect(await resolve([], 'silent')).toBe('connect-timeout, unreached');
    expect(await resolve(['10.0.0.1'])).toBe('egress-denied, unreached');
    expect(ended(await aSender().send(aRequest('https://[::ffff:127.0.0.1]/')))).toBe('egress-denied, unreached');
    expect(ended(await aSender().send(aRequest('https://169.254.169.254/latest')))).toBe('egress-denied, unreached');
  });

  it('fails by connect-timeout when TCP connects and TLS is never answered', async () => {
    const endpoint = await listen(
      createServer((socket) => socket.resume()),
      'https',
    );
    const sender = aSender({ timeoutMs: 5_000 });
    expect(ended(await sender.send(aRequest(endpoint.url)))).toBe('connect-timeout, unreached');
    await until(() => endpoint.open === 0);
  });

  it('fails by connect-timeout when no listener accepts the TCP connection', async () => {
    // It listens and never gets to accept; Linux drops what comes when the queue of one is full.
    const listens = "require('net').createServer().listen({port:0,host:'127.0.0.1',backlog:1},function(){";
    const blocks =
      'console.log(this.address().port);setTimeout(()=>Atomics.wait(new Int32Array(new SharedArrayBuffer(4)),0,0),20)})';
    const program = spawn(process.execPath, ['-e', listens + blocks], { stdio: ['ignore', 'pipe', 'inherit'] });
    closers.push(async () => program.kill('SIGKILL'));
    const [line] = (await once(program.stdout, 'data')) as [Buffer];
    const port = Number(line.toString());
    await new Promise((resolve) => setTimeout(resolve, 200));
    const inLine = Array.from({ length: 4 }, () => connect(port, '127.0.0.1').on('error', () => {}));
    closers.push(async () => inLine.map((socket) => socket.destroy()));
    await until(() => inLine.some((socket) => !socket.connecting));
    await new Promise((resolve) => setTimeout(resolve, 50));
    const sender = aSender({ timeoutMs: 5_000 });
    expect(ended(await sender.send(aRequest(`http://127.0.0.1:${port}/`)))).toBe('connect-timeout, unreached');
  });

  it.each([
    ['a line of the head ends with LF or CR alone; HTTP/1.1 needs CR LF', 'HTTP/1.1 200 OK\ncontent-length: 0\n\n'],
    ['a line of the head ends with LF or CR alone; HTTP/1.1 needs CR LF', 'HTTP/1.1 200 OK\r\na: b\nc: d\r\n\r\n'],
    ['the head has a control character', 'HTTP/1.1 200 OK\r\na: \0\r\n'],
    ['the endpoint answered in HTTP/2; HTTP/1.1 is needed', '\0\0\0\x04\0\0\0\0\0'],
    ['the answer is not HTTP/1.1', 'ok\n'],
    ['the endpoint closed the connection within its answer', 'HTTP/1.1 200 OK\r\na: b'],
    ['the endpoint closed the connection before its answer', ''],
  ])('says of an answer that %s', async (detail, answer) => {
    const endpoint = await anEndpoint((socket) => socket.end(Buffer.from(answer, 'latin1')));
    expect(await aSender({ timeoutMs: 5_000 }).send(aRequest(endpoint.url))).toMatchObject({ kind: 'failed', detail });
  });

  it('says what it waited for in vain', async () => {
    const detailOf = async (answer: string): Promise<unknown> => {
      const endpoint = await anEndpoint((socket) => socket.write(answer));
      return Reflect.get(await aSender({ timeoutMs: 1_000 }).send(aRequest(endpoint.url)), 'detail');
    };
    expect(await detailOf('')).toBe('no answer within 1000 ms');
    expect(await detailOf('HTTP/1.1 200 OK\r\na: b')).toBe('the head of the answer was not complete within 1000 ms');
  });

  it.each<[string, string, TlsOptions, string[]]>([
    ['tls', 'the certificate is self-signed', {}, []],
    [
      'tls',
      'the endpoint takes neither TLS 1.2 nor 1.3',
      { maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'ALL:@SECLEVEL=0' },
      [],
    ],
    ['tls', 'the endpoint does not take HTTP/1.1 (by ALPN), which is needed', { ALPNProtocols: ['h2'] }, []],
    ['tls', 'the endpoint demands a client certificate, and the relay has none', { requestCert: true }, []],
    [
      'tls',
      'the endpoint refused the TLS handshake: it takes no common cipher, or demands a client certificate',
      { requestCert: true, maxVersion: 'TLSv1.2' },
      [],
    ],
    ['tls', 'EE certificate key too weak', { ciphers: 'DEFAULT:@SECLEVEL=0' }, ['rsa:1024']],
  ])('fails by %s and says that %s', async (error, detail, options, key) => {
    const pem = aCertificate(key);
    const endpoint = await listen(createTlsServer({ key: pem, cert: pem, ...options }), 'https');
    const isTrusted = !detail.includes('self-signed');
    const by = guardedConnector(egressPolicy(settings), isTrusted ? { ca: pem } : {});
    expect(await aSender({ timeoutMs: 5_000 }, by).send(aRequest(endpoint.url))).toMatchObject({ error, detail });
  });

  it('fails by tls where no TLS is spoken', async () => {
    const plain = await listen(
      createServer((socket) => socket.on('data', () => socket.end(empty(400)))),
      'https',
    );
    const detail = 'the endpoint does not speak TLS on this port';
    expect(await aSender({ timeoutMs: 5_000 }).send(aRequest(plain.url))).toMatchObject({ error: 'tls', detail });
  });

  it('fails by tls at a self-signed certificate', async () => {
    const pem = aCertificate();
    const endpoint = await listen(
      createTlsServer({ key: pem, cert: pem }, (socket) => socket.on('data', () => socket.write(OK))),
      'https',
    );
    expect(ended(await aSender().send(aRequest(endpoint.url)))).toBe('tls, unreached');
    const trusting = guardedConnector(egressPolicy(settings), { ca: pem });
    expect(ended(await aSender({}, trusting).send(aRequest(endpoint.url)))).toBe('200, answered');
  });

  it.each(['', 'nonsense', 'https://', 'ftp://example.com/'])('answers the bad URL %j by a failure', async (url) => {
    expect(await aSender().send(aRequest(url))).toMatchObject({ kind: 'failed', detail: expect.any(String) });
  });

  it('answers a bad header by a failure and needs no connection for it', async () => {
    const endpoint = await anEndpoint((socket) => socket.write(OK));
    const result = await aSender().send(aRequest(endpoint.url, { 'x-api-key': 'a\r\nb: c' }));
    expect([ended(result), endpoint.connections]).toEqual(['unknown, unmade', 0]);
  });

  it('ends when its signal is aborted, before and during the attempt', async () => {
    const endpoint = await anEndpoint(() => controller.abort());
    const controller = new AbortController();
    const sender = aSender({ timeoutMs: 10_000 });
    expect(errorOf(await sender.send(aRequest(endpoint.url), AbortSignal.abort()))).toBe('unknown');
    expect(errorOf(await sender.send(aRequest(endpoint.url), controller.signal))).toBe('unknown');
    await until(() => endpoint.open === 0);
    expect(endpoint.requests).toHaveLength(1);
  });
});
