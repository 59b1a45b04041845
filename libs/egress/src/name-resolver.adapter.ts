import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';

/** Resolves every address of a name. Rejects with a resolver's error code (`ENOTFOUND`, `ETIMEOUT`, …) when there is none. */
export type ResolveAll = (hostname: string) => Promise<readonly LookupAddress[]>;

export interface ResolverSettings {
  /** Name servers as `address:port` instead of the system's. */
  readonly servers?: readonly string[];
}

/**
 * Resolves names by the system's name servers over c-ares. `dns.lookup` would use libuv's pool, four threads shared by the whole
 * process: four names with silent servers would stop every other look-up. Here a silent server delays its own names only, with
 * at most one look-up of each in flight. Neither the hosts file nor search domains are read, so only the public DNS defines a
 * name.
 */
export function nameResolver({ servers }: ResolverSettings = {}): ResolveAll {
  // Three rounds of about a second; the connect timeout ends slower look-ups anyway.
  const resolver = new Resolver({ timeout: 2_000, tries: 3 });
  if (servers !== undefined) resolver.setServers(servers);
  const running = new Map<string, Promise<readonly LookupAddress[]>>();
  return (hostname) => {
    const known = running.get(hostname);
    if (known !== undefined) return known;
    const asked = bothFamilies(resolver, hostname).finally(() => running.delete(hostname));
    running.set(hostname, asked);
    return asked;
  };
}

/** IPv4 first, which every network has; Node then alternates between the families (RFC 8305). */
async function bothFamilies(resolver: Resolver, hostname: string): Promise<readonly LookupAddress[]> {
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason;
  return [...found(v4, 4), ...found(v6, 6)];
}

function found(result: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  return result.status === 'fulfilled' ? result.value.map((address) => ({ address, family })) : [];
}
