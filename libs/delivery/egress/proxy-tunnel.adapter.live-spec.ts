import { once } from 'node:events';
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { connect as connectSocket, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Client } from 'undici';
import { egressPolicy } from './address.js';
import { guardedConnector } from './guarded-connector.adapter.js';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

const portOf = (server: Server | HttpServer): number => (server.address() as AddressInfo).port;

const listen = async <S extends Server | HttpServer>(server: S): Promise<S> => {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return server;
};

/** A proxy that tunnels whatever name is asked for to one port, or answers otherwise. */
const aProxy = async (to: number, answer = '200 OK') => {
  const asked: { authority: string | undefined; authorization: string | undefined }[] = [];
  const server = createHttpServer().on('connect', (request, socket: Socket) => {
    asked.push({ authority: request.url, authorization: request.headers['proxy-authorization'] });
    socket.on('error', () => {});
    if (answer === '') return;
    socket.write(`HTTP/1.1 ${answer}\r\n\r\n`);
    if (answer.startsWith('200')) socket.pipe(connectSocket(to, '127.0.0.1').on('error', () => {})).pipe(socket);
    else socket.end();
  });
  await listen(server);
  return { asked, url: `http://relay:p%40ss@127.0.0.1:${portOf(server)}` };
};

const policy = egressPolicy({ ports: ['443', '8443'], allowHttp: true, allowCidrs: [], denyCidrs: [] });

const send = async (url: string, proxyUrl: string): Promise<number> => {
  const resolve = () => Promise.reject(new Error('names are the affair of the proxy'));
  const connect = guardedConnector(policy, { proxyUrl, resolve, connectTimeoutMs: 300 });
  const client = new Client(url, { connect });
  closers.push(() => void client.destroy());
  const { statusCode, body } = await client.request({ path: '/hook', method: 'POST', body: 'x' });
  await body.dump();
  return statusCode;
};
const faultOf = (url: string, proxyUrl: string): Promise<unknown> => send(url, proxyUrl).catch((fault) => fault);
const post = (url: string, proxyUrl: string): Promise<unknown> =>
  send(url, proxyUrl).catch((fault) => Object(fault).code);

describe('an egress proxy', () => {
  const anEndpoint = async (): Promise<number> =>
    portOf(await listen(createHttpServer((_, response) => response.writeHead(202).end())));

  it('gets a request for a tunnel to the name with its own credential, and sees the request in the tunnel only', async () => {
    const proxy = await aProxy(await anEndpoint());
    expect(await post('http://hooks.example.com:8443', proxy.url)).toBe(202);
    const authorization = `Basic ${Buffer.from('relay:p@ss').toString('base64')}`;
    expect(proxy.asked).toEqual([{ authority: 'hooks.example.com:8443', authorization }]);
  });

  it('carries TLS that is verified by the relay', async () => {
    const proxy = await aProxy(await anEndpoint()); // which speaks no TLS
    expect(await post('https://hooks.example.com', proxy.url)).toMatch(/^(ERR_SSL_|EPROTO|ECONNRESET)/);
    expect(proxy.asked).toMatchObject([{ authority: 'hooks.example.com:443' }]);
  });

  it.each([
    'http://127.0.0.1:8443',
    'https://[::ffff:127.0.0.1]',
    'https://metadata.google.internal',
    'https://1.1.1.1:22',
  ])('is not even asked for %s', async (url) => {
    const proxy = await aProxy(1);
    expect(await post(url, proxy.url)).toBe('EGRESS_DENIED');
    expect(proxy.asked).toEqual([]);
  });

  it.each([
    ['403 Forbidden', 'EGRESS_PROXY'],
    ['407 Proxy Authentication Required', 'EGRESS_PROXY'],
    ['502 Bad Gateway', 'EGRESS_PROXY'],
    ['', 'UND_ERR_CONNECT_TIMEOUT'],
  ])('that answers %j fails the attempt by %s', async (answer, code) => {
    const proxy = await aProxy(1, answer);
    expect(await post('https://hooks.example.com', proxy.url)).toBe(code);
  });

  it.each([
    ['200 OK\r\ncontent-length: 5', 'a length'],
    ['200 OK\r\ntransfer-encoding: chunked', 'an encoding'],
    ['200 OK\r\n\r\nHTTP/1.1 200 OK', 'bytes behind it'],
  ])('that answers %j, %s, speaks for no endpoint', async (answer) => {
    const proxy = await aProxy(await anEndpoint(), answer);
    for (const url of ['http://hooks.example.com:8443', 'https://hooks.example.com'])
      expect(await post(url, proxy.url)).toBe('EGRESS_PROXY');
  });

  it('may say that nothing stands behind its answer', async () => {
    const proxy = await aProxy(await anEndpoint(), '200 OK\r\ncontent-length: 0');
    expect(await post('http://hooks.example.com:8443', proxy.url)).toBe(202);
  });

  it.each<[string, (socket: Socket) => void]>([
    ['closed the connection without an answer', (socket) => socket.end()],
    ['did not answer in HTTP', (socket) => socket.end('220 mail.example ESMTP\r\n')],
  ])('that %s is told so', async (words, answer) => {
    const server = await listen(createServer((socket) => void socket.once('data', () => answer(socket))));
    expect(await faultOf('https://hooks.example.com', `http://127.0.0.1:${portOf(server)}`)).toMatchObject({
      code: 'EGRESS_PROXY',
      message: `the egress proxy ${words}`,
    });
  });

  it('that is away fails the attempt without revealing its address', async () => {
    const server = await listen(createServer());
    const url = `http://127.0.0.1:${portOf(server)}`;
    server.close();
    await once(server, 'close');
    expect(await post('https://hooks.example.com', url)).toBe('EGRESS_PROXY');
  });
});
