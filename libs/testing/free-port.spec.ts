import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { freePort } from './free-port.js';

describe('freePort', () => {
  it('gives each port once, free for TCP and claimed where other processes look', async () => {
    const ports = await Promise.all(Array.from({ length: 50 }, () => freePort()));
    expect(new Set(ports).size).toBe(50);
    const server = createServer().listen(ports[0]);
    await once(server, 'listening');
    server.close();
    const other = createSocket('udp4');
    await expect(once(other.bind({ port: ports[0], address: '127.0.0.1' }), 'listening')).rejects.toThrow('EADDRINUSE');
    other.close();
  });
});
