import { networkInterfaces } from 'node:os';

/** The host that listens on every address of the machine: `::` where there is IPv6, which may be all there is, else `0.0.0.0`. */
export function everyAddress(interfaces = networkInterfaces()): '::' | '0.0.0.0' {
  const hasIpv6 = Object.values(interfaces).some((addresses) => addresses?.some(({ family }) => family === 'IPv6'));
  return hasIpv6 ? '::' : '0.0.0.0';
}

/** Why this TRUST_PROXY lets callers forge their address; undefined when it does not. */
export const proxyWarning = (trusted: boolean | number | string): string | undefined =>
  trusted === true
    ? 'TRUST_PROXY=true trusts the first address of X-Forwarded-For, which the caller writes: limits by network then limit nobody'
    : undefined;
