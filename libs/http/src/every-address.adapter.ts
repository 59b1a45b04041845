import { networkInterfaces } from 'node:os';

/**
 * The host that listens on every address of the machine: `::` where there is IPv6, which may be all there is, else
 * `0.0.0.0`.
 */
export function everyAddress(interfaces = networkInterfaces()): '::' | '0.0.0.0' {
  const hasIpv6 = Object.values(interfaces).some((addresses) => addresses?.some(({ family }) => family === 'IPv6'));
  return hasIpv6 ? '::' : '0.0.0.0';
}
