import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces, type NetworkInterfaceInfo } from 'node:os';
import { everyAddress } from './http-app.adapter.js';

const [ipv4, ipv6] = (['IPv4', 'IPv6'] as const).map((family) => ({ family }) as NetworkInterfaceInfo);

describe('everyAddress', () => {
  it.each([
    ['IPv4 alone', { lo: [ipv4], eth0: [ipv4] }, '0.0.0.0'],
    ['IPv6 alone', { eth0: [ipv6] }, '::'],
    ['both', { lo: [ipv4, ipv6], eth0: [ipv4] }, '::'],
    ['an interface without an address', { tun0: undefined }, '0.0.0.0'],
  ])('with %s', (_, interfaces, host) => {
    expect(everyAddress(interfaces as NodeJS.Dict<NetworkInterfaceInfo[]>)).toBe(host);
  });

  it('is reached by each loopback address of this machine', async () => {
    const server = createServer((_, response) => response.end('here'));
    await new Promise<void>((resolve) => {
      server.listen(0, everyAddress(), resolve);
    });
    const { port } = server.address() as AddressInfo;
    const loopbacks = (networkInterfaces()['lo'] ?? []).map(({ address, family }) =>
      family === 'IPv6' ? `[${address}]` : address,
    );
    const answers = await Promise.all(loopbacks.map(async (host) => (await fetch(`http://${host}:${port}`)).text()));
    expect(answers).toEqual(loopbacks.map(() => 'here'));
    server.closeAllConnections();
    server.close();
  });
});
