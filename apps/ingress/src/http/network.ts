import ipaddr from 'ipaddr.js';

/** What one sender can hardly change: an IPv4 address, or the /64 an IPv6 host picks its addresses from. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return 'unknown';
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return Buffer.from(parsed.toByteArray().slice(0, 8)).toString('hex');
}
