import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';

/**
 * Resolves a host name. If it has no address, the promise rejects with the resolver's error code (`ENOTFOUND`, `ETIMEOUT`,
 * …).
 * @param isPatient whether to wait for the addresses of both families (IPv4 and IPv6), because the machine has no route to
 * the family that came first
 */
export type ResolveAll = (hostname: string, isPatient?: boolean) => Promise<readonly LookupAddress[]>;

export interface ResolverSettings {
  /** Name servers as `address:port`, used instead of those of the system. */
  readonly servers?: readonly string[];
}

/**
 * Longest time of a look-up, in ms. It is shorter than the timeout for connecting, so that a slow look-up is reported as a
 * DNS error.
 */
const LOOK_UP_MS = 4_500;
/** Milliseconds to wait for the addresses of the second family after the first family's have come (RFC 8305 section 3). */
const GRACE_MS = 50;
/**
 * Milliseconds without a response after which the next server is asked too. A late response of an earlier server is still
 * used.
 */
const TURN_MS = 1_500;

const FAMILIES = [4, 6] as const;
type Family = (typeof FAMILIES)[number];
type Answer = { readonly addresses: readonly string[] } | { readonly fault: unknown };

/**
 * Resolves names with c-ares at the name servers of the system. Node's `dns.lookup` is not used because it runs on the four
 * threads that libuv has for the whole process: four names whose servers do not respond then block every other look-up. Here
 * such a server delays only its own names, and each name has at most one look-up in flight. The resolver reads neither a
 * hosts file nor search domains, so only the public DNS defines a name.
 */
export function nameResolver({ servers }: ResolverSettings = {}): ResolveAll {
  const running = new Map<string, Promise<readonly LookupAddress[]>>();
  let best: string | undefined;
  return (hostname, isPatient = false) => {
    const key = `${hostname} ${isPatient}`;
    const known = running.get(key);
    if (known !== undefined) return known;
    const all = servers ?? new Resolver().getServers();
    const inOrder = all.toSorted((a, b) => Number(b === best) - Number(a === best));
    const asked = lookUp(hostname, inOrder, isPatient, (server) => (best = server)).finally(() => running.delete(key));
    running.set(key, asked);
    return asked;
  };
}

/**
 * Asks the servers in turn for the addresses of both families. The look-up ends when both families have a result, when one
 * family has addresses and the wait for the second is over, or after `LOOK_UP_MS`. c-ares itself abandons a query before it
 * asks the next server, and abandons it sooner if that server was quick before. Therefore each turn has its own resolver,
 * which asks one server once.
 */
function lookUp(
  hostname: string,
  servers: readonly string[],
  isPatient: boolean,
  answeredBy: (server: string) => void,
): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    const asked: Resolver[] = [];
    const answers = new Map<Family, Answer>();
    const open = { 4: 0, 6: 0 };
    let grace: NodeJS.Timeout | undefined;
    let isOver = false;

    const end = (): void => {
      isOver = true;
      clearInterval(turns);
      clearTimeout(bound);
      clearTimeout(grace);
      for (const resolver of asked) resolver.cancel();
      const found = FAMILIES.flatMap((family) => addressesOf(answers.get(family), family));
      if (found.length > 0) resolve(found);
      else reject(faultOf(answers));
    };
    const settle = (family: Family, answer: Answer): void => {
      if (answers.has(family)) return;
      answers.set(family, answer);
      if (answers.size === FAMILIES.length) end();
      else if ('addresses' in answer && !isPatient) grace = setTimeout(end, GRACE_MS);
    };
    const failed = (family: Family, fault: unknown): void => {
      open[family] -= 1;
      // These codes describe the name. All others are failures of the server.
      if (['ENOTFOUND', 'ENODATA'].includes(codeOf(fault))) settle(family, { fault });
      else if (asked.length < servers.length) askNext();
      else if (open[family] === 0) settle(family, { fault });
    };
    const take = (server: string, family: Family, answer: Answer): void => {
      if (isOver) return;
      if ('fault' in answer) return failed(family, answer.fault);
      answeredBy(server);
      settle(family, answer);
    };
    const askNext = (): void => {
      const server = servers[asked.length % servers.length] ?? '';
      const resolver = new Resolver({ timeout: LOOK_UP_MS, tries: 1 });
      resolver.setServers([server]);
      asked.push(resolver);
      for (const family of FAMILIES) {
        if (answers.has(family)) continue;
        open[family] += 1;
        void answerOf(resolver, family, hostname).then((answer) => take(server, family, answer));
      }
    };
    askNext();
    const turns = setInterval(askNext, TURN_MS);
    const bound = setTimeout(() => {
      for (const family of FAMILIES) settle(family, { fault: faultOfFamily('ETIMEOUT', hostname, family) });
    }, LOOK_UP_MS);
  });
}

async function answerOf(resolver: Resolver, family: Family, hostname: string): Promise<Answer> {
  try {
    const addresses = await (family === 4 ? resolver.resolve4(hostname) : resolver.resolve6(hostname));
    // If a name is an alias (CNAME) of a name without addresses, c-ares reports success with an empty list.
    return addresses.length > 0 ? { addresses } : { fault: faultOfFamily('ENODATA', hostname, family) };
  } catch (fault) {
    return { fault };
  }
}

/**
 * Returns the addresses of one family. The caller lists IPv4 first, which every network has; Node then alternates between
 * the families (RFC 8305).
 */
function addressesOf(answer: Answer | undefined, family: Family): LookupAddress[] {
  return answer !== undefined && 'addresses' in answer ? answer.addresses.map((address) => ({ address, family })) : [];
}

/**
 * Returns the error of a failed look-up. `ENODATA` only says that the name has no address of one family, so an error of the
 * other family is preferred.
 */
function faultOf(answers: ReadonlyMap<Family, Answer>): unknown {
  const faults = FAMILIES.map((family) => Object(answers.get(family)).fault as unknown);
  return faults.find((fault) => codeOf(fault) !== 'ENODATA') ?? faults[0];
}

const codeOf = (fault: unknown): string => String(Object(fault).code);

function faultOfFamily(code: string, hostname: string, family: Family): Error {
  const syscall = family === 4 ? 'queryA' : 'queryAaaa';
  return Object.assign(new Error(`${syscall} ${code} ${hostname}`), { code, syscall, hostname });
}
