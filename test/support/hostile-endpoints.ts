import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { gzipSync, constants } from 'node:zlib';
import type { Certificates } from './certificates.js';

/** The result of an attempt at such an endpoint: a status, or the kind of failure. */
type Expected = number | 'timeout' | 'reset' | 'protocol' | 'tls';
type Behaviour = (socket: Socket) => unknown;

const head = (status: number, ...headers: string[]): string =>
  [`HTTP/1.1 ${status} x`, ...headers, '', ''].join('\r\n');
const OK = head(200, 'content-length: 2') + 'ok';

/** Writes what `piece` gives as fast as the other side takes it, until the connection closes. */
const pour = (socket: Socket, piece: () => string | Buffer): void => {
  const more = (): unknown => socket.destroyed || socket.write(piece(), () => setImmediate(more));
  more();
};
const drip = (socket: Socket, piece: string, everyMs: number): void => {
  const timer = setInterval(() => socket.write(piece), everyMs);
  socket.on('close', () => clearInterval(timer));
};
const MEGABYTE = Buffer.alloc(1_048_576, 'b');
const bomb = gzipSync(Buffer.alloc(64 * 1_048_576), { level: constants.Z_BEST_COMPRESSION });

const BEHAVIOURS: readonly (readonly [name: string, expected: Expected, behaviour: Behaviour])[] = [
  ['never answers', 'timeout', () => {}],
  [
    'sends its head a byte a second',
    'timeout',
    (socket) => socket.write('HTTP/1.1 200 OK\r\nx: ') && drip(socket, 'x', 1_000),
  ],
  ['sends its body a byte a second', 200, (socket) => socket.write(head(200)) && drip(socket, 'x', 1_000)],
  ['sends half its head and closes', 'reset', (socket) => socket.end('HTTP/1.1 200 OK\r\nx: y')],
  ['closes early', 'reset', (socket) => socket.end()],
  ['resets', 'reset', (socket) => socket.resetAndDestroy()],
  ['breaks its body off', 200, (socket) => socket.end(`${head(200, 'content-length: 9')}ab`)],
  [
    'sends a body of 1 GB',
    200,
    (socket) => socket.write(head(200, 'content-length: 1073741824')) && pour(socket, () => MEGABYTE),
  ],
  [
    'sends a failure of 1 GB',
    500,
    (socket) => socket.write(head(500, 'content-length: 1073741824')) && pour(socket, () => MEGABYTE),
  ],
  ['sends an endless body', 200, (socket) => socket.write(head(200)) && pour(socket, () => MEGABYTE)],
  [
    'sends endless chunks of a byte',
    200,
    (socket) =>
      socket.write(head(200, 'transfer-encoding: chunked')) && pour(socket, () => '1\r\nx\r\n'.repeat(10_000)),
  ],
  [
    'sends a gzip bomb',
    200,
    (socket) => {
      socket.write(head(200, 'content-encoding: gzip', `content-length: ${bomb.length}`));
      socket.write(bomb);
    },
  ],
  [
    'sends garbage',
    'protocol',
    (socket) => pour(socket, () => Buffer.from('\0\x01\xff\xfe garbage \r\n\r\n'.repeat(500), 'latin1')),
  ],
  ['speaks another protocol', 'protocol', (socket) => socket.write('220 mail.example ESMTP\r\n')],
  [
    'floods interim responses',
    'protocol',
    (socket) => pour(socket, () => 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1_000)),
  ],
  ['sends 10,000 headers', 'protocol', (socket) => socket.write(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(10_000)}\r\n`)],
  ['sends a header of 64 kB', 'protocol', (socket) => socket.write(head(200, `x: ${'y'.repeat(65_536)}`))],
  [
    'sends an endless header',
    'protocol',
    (socket) => socket.write('HTTP/1.1 200 OK\r\nx: ') && pour(socket, () => MEGABYTE),
  ],
  [
    'sends endless trailers',
    200,
    (socket) =>
      socket.write(`${head(200, 'transfer-encoding: chunked')}0\r\n`) && pour(socket, () => 'a: b\r\n'.repeat(10_000)),
  ],
  ['sends a body with 204', 204, (socket) => socket.write(`${head(204, 'content-length: 5')}hello`)],
  ['sends a body with 304', 304, (socket) => socket.write(`${head(304, 'content-length: 5')}hello`)],
  ['sends two answers to one request', 200, (socket) => socket.write(OK + head(500, 'content-length: 0'))],
  [
    'says 2 lengths',
    'protocol',
    (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 9\r\n\r\nok'),
  ],
  [
    'redirects to the metadata service',
    302,
    (socket) => socket.write(head(302, 'location: http://169.254.169.254/latest/meta-data/', 'content-length: 0')),
  ],
];

export interface HostileEndpoint {
  readonly name: string;
  readonly expected: Expected;
  readonly url: string;
  /** Connections that are open at the moment. */
  open(): number;
}

/** Raw TCP and TLS servers, one for each way to treat a client badly. */
export class HostileEndpoints {
  readonly #servers: { server: Server; sockets: Set<Socket> }[] = [];
  readonly all: HostileEndpoint[] = [];

  static async open(certificates: Certificates): Promise<HostileEndpoints> {
    const endpoints = new HostileEndpoints();
    for (const [name, expected, behaviour] of BEHAVIOURS) {
      await endpoints.#add(
        name,
        expected,
        'http',
        createServer((socket) => onRequest(socket, behaviour)),
      );
    }
    const { good, expired, otherName, selfSigned } = certificates;
    const old: TlsOptions = { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' };
    const tls: readonly (readonly [string, Expected, string, TlsOptions?])[] = [
      ['has a good certificate', 200, good],
      ['has an expired certificate', 'tls', expired],
      ['has the certificate of another name', 'tls', otherName],
      ['has a self-signed certificate', 'tls', selfSigned],
      ['speaks TLS 1.0', 'tls', good, old],
    ];
    for (const [name, expected, pem, options = {}] of tls) {
      const server = createTlsServer({ key: pem, cert: pem, ...options }, (socket) =>
        onRequest(socket, () => socket.write(OK)),
      );
      await endpoints.#add(
        name,
        expected,
        'https',
        server.on('tlsClientError', () => {}),
      );
    }
    await endpoints.#add(
      'speaks no TLS',
      'tls',
      'https',
      createServer((socket) => socket.resume().write(OK)),
    );
    await endpoints.#add(
      'keeps silent instead of TLS',
      'timeout',
      'https',
      createServer((socket) => socket.resume()),
    );
    return endpoints;
  }

  close(): void {
    for (const { server, sockets } of this.#servers) {
      for (const socket of sockets) socket.destroy();
      server.close();
    }
  }

  async #add(name: string, expected: Expected, scheme: string, server: Server): Promise<void> {
    const sockets = new Set<Socket>();
    server.on('connection', (socket: Socket) => {
      sockets.add(socket.on('error', () => {}));
      socket.on('close', () => sockets.delete(socket));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    this.#servers.push({ server, sockets });
    const { port } = server.address() as AddressInfo;
    this.all.push({ name, expected, url: `${scheme}://127.0.0.1:${port}/hook`, open: () => sockets.size });
  }
}

/** Calls back for each whole request; they are small and carry a `content-length`. */
function onRequest(socket: Socket, behaviour: Behaviour): void {
  let text = '';
  socket.on('error', () => {});
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
    const [, length = '', body = ''] = /content-length: (\d+)[^]*?\r\n\r\n([^]*)$/.exec(text) ?? [];
    if (length === '' || body.length < Number(length)) return;
    text = '';
    behaviour(socket);
  });
}
