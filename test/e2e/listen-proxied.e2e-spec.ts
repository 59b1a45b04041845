import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { mainOf } from '../support/app.js';
import { anEnvelope } from '../support/client.js';
import { partner, relay, source, startRelay } from '../support/shared-relay.js';
import { Program } from '../support/terminal.js';
import { until } from '../support/until.js';

let proxy: Server;
/** What the proxy was asked to connect to. */
const asked: string[] = [];

startRelay({}, () => {
  proxy?.closeAllConnections();
  proxy?.close();
});

beforeAll(async () => {
  const { hostname, port } = new URL(relay.ingress.url);
  proxy = createServer().on('connect', ({ url }: IncomingMessage, socket: Socket, head: Buffer) => {
    asked.push(String(url));
    const onward = connect(Number(port), hostname, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      onward.write(head);
      socket.pipe(onward).pipe(socket);
    });
    for (const each of [socket, onward]) each.on('error', () => undefined);
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
});

it.each([
  ['relay listen', mainOf('cli')],
  ['partner-relay listen', mainOf('cli').replace('apps/cli/src', 'libs/clients/client')],
])('%s reaches the relay through the proxy of the usual variables, and this machine without', async (name, main) => {
  const path = `/${name.replace(' ', '-')}`;
  const through = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  // Only the proxy knows this name.
  const address = 'http://relay.invalid';
  const env = {
    PUBLIC_URL: address,
    RELAY_URL: address,
    RELAY_CLIENT_ID: partner.clientId,
    RELAY_CLIENT_SECRET: partner.clientSecret,
    HTTP_PROXY: through,
    HTTPS_PROXY: through,
  };
  const args = [main, 'listen', '--forward-to', relay.receiver.url(path), '--json'];
  const listening = new Program(process.execPath, args, env);
  try {
    await listening.prints(/"open"/);
    const envelope = anEnvelope();
    expect((await source.post(envelope)).status).toBe(202);
    await until('it is forwarded', () => relay.receiver.ids(path).includes(envelope.id));
    expect(new Set(asked.splice(0))).toEqual(new Set(['relay.invalid:80']));
  } finally {
    await listening.end('SIGINT');
  }
});
