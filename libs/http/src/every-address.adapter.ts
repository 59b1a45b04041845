import { networkInterfaces } from 'node:os';

/** The host to listen on for every address of the machine: a pod of a cluster with IPv6 alone has no other, and one without has none of it. */
export function everyAddress(interfaces = networkInterfaces()): '::' | '0.0.0.0' {
  const hasIpv6 = Object.values(interfaces).some((addresses) => addresses?.some(({ family }) => family === 'IPv6'));
  return hasIpv6 ? '::' : '0.0.0.0';
}
