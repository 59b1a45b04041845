import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { connectKafka } from './kafka-client.adapter.js';

describe('connectKafka', () => {
  it.each([
    ['[::1]', '::1'],
    ['::1', '::1'],
    ['127.0.0.1', '127.0.0.1'],
    ['localhost', 'localhost'],
  ])('begins with a broker at %s', async (host, at) => {
    const server = createServer((socket) => socket.destroy()).listen(0, at);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const settings = { KAFKA_BROKERS: [`${host}:${port}`], KAFKA_CLIENT_ID: 'spec' };
    const admin = connectKafka(settings, () => undefined).admin({ retry: { retries: 0 } });
    const came = once(server, 'connection').then(() => 'came');
    const refused = admin.connect().catch((error: unknown) => String(error));
    expect(await Promise.race([came, refused])).toBe('came');
    await refused;
    server.close();
  });
});
