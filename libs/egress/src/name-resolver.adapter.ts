import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';

/** Every address of a name, now. Rejects with a resolver's error code (`ENOTFOUND`, `ETIMEOUT`, …) when there is none. */
export type ResolveAll = (hostname: string) => Promise<readonly LookupAddress[]>;

export interface ResolverSettings {
  /** Name servers as `address:port` instead of the system's. */
  readonly servers?: readonly string[];
}

/**
 * Asks the system's name servers over c-ares. `dns.lookup` would wait in libuv's pool, four threads shared by the whole
 * process: four names whose servers keep silent would stop every other look-up. Here silence costs nobody but its own
 * name, of which at most one look-up is on its way. Neither the hosts file nor search domains are read, so a name means
 * what the public DNS says and nothing that the relay's own network adds.
 */
export function nameResolver({ servers }: ResolverSettings = {}): ResolveAll {
  // Three rounds of a second or so; what is slower than that is cut off by the connect timeout all the same.
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

/** IPv4 first, which every network has: Node tries the families in turns from there (RFC 8305). */
async function bothFamilies(resolver: Resolver, hostname: string): Promise<readonly LookupAddress[]> {
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason;
  return [...found(v4, 4), ...found(v6, 6)];
}

function found(result: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  return result.status === 'fulfilled' ? result.value.map((address) => ({ address, family })) : [];
}
