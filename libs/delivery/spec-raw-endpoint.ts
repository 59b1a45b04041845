import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { egressPolicy, guardedConnector } from '@relay/egress';
import { HttpSender, type HttpSenderSettings } from './http-sender.adapter.js';
import type { AttemptResult } from './outcome.js';
import type { DeliveryRequest } from './request.js';

export const settings = { ports: ['443'], allowHttp: true, allowCidrs: ['127.0.0.0/8'], denyCidrs: [] };
const connector = guardedConnector(egressPolicy(settings), { connectTimeoutMs: 200 });
const BODY = Buffer.from('{"a":1.10}');
export const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
const TIMEOUT_MS = 300;

export const aRequest = (url: string, headers: Record<string, string> = {}): DeliveryRequest => ({
  method: 'POST',
  url,
  headers: { 'content-type': 'application/json', 'webhook-id': 'w1', ...headers },
  body: BODY,
  webhookId: 'w',
  partnerId: 'p',
});

/** Functions that close what a spec has opened. */
export const closers: (() => Promise<unknown>)[] = [];
/** Closes everything that a spec has opened. Call it in `afterEach`. */
export const closeAll = async (): Promise<void> => {
  await Promise.all(closers.splice(0).map((close) => close()));
};

export const aSender = (more: HttpSenderSettings = {}, by = connector): HttpSender => {
  const sender = new HttpSender(by, { timeoutMs: TIMEOUT_MS, ...more });
  closers.push(() => sender.close());
  return sender;
};

interface Endpoint {
  url: string;
  readonly requests: string[];
  connections: number;
  open: number;
}

export const listen = async (server: Server, scheme = 'http'): Promise<Endpoint> => {
  const sockets = new Set<Socket>();
  const endpoint: Endpoint = { url: '', requests: [], connections: 0, open: 0 };
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.on('error', () => {}));
    endpoint.connections += 1;
    endpoint.open += 1;
    socket.on('close', () => (endpoint.open -= 1));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  endpoint.url = `${scheme}://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/hook?x=1`;
  return endpoint;
};

/** Opens an endpoint that calls `answer` for each request, with the number of the request on its connection, from 1. */
export const anEndpoint = async (answer: (socket: Socket, nth: number) => void): Promise<Endpoint> => {
  const endpoint = await listen(
    createServer((socket) => {
      let text = '';
      let nth = 0;
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1');
        if (!text.endsWith(BODY.toString())) return;
        endpoint.requests.push(text);
        text = '';
        nth += 1;
        answer(socket, nth);
      });
    }),
  );
  return endpoint;
};

export const empty = (status: number, ...headers: string[]): string =>
  [`HTTP/1.1 ${status} x`, 'content-length: 0', ...headers, '', ''].join('\r\n');

export const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
};

export const errorOf = (result: AttemptResult): string =>
  result.kind === 'failed' ? result.error : `${result.status}`;
