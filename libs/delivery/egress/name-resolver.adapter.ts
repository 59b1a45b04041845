import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';

/**
 * Resolves a name. Rejects with a resolver's error code (`ENOTFOUND`, `ETIMEOUT`, …) if there is no address.
 * @param isPatient whether to wait for both families, because the addresses of the first are of no use
 */
export type ResolveAll = (hostname: string, isPatient?: boolean) => Promise<readonly LookupAddress[]>;

export interface ResolverSettings {
  /** Name servers as `address:port` instead of the system's. */
  readonly servers?: readonly string[];
}

/** Longest time of a look-up, in ms, whatever its servers do: shorter than a connect's timeout, so that it fails as DNS. */
const LOOK_UP_MS = 4_500;
/** Milliseconds that the addresses of one family wait for those of the second (RFC 8305 section 3). */
const GRACE_MS = 50;
/** Milliseconds without an answer after which the next server is asked too; late answers of earlier servers still count. */
const TURN_MS = 1_500;

const FAMILIES = [4, 6] as const;
type Family = (typeof FAMILIES)[number];
type Answer = { readonly addresses: readonly string[] } | { readonly fault: unknown };

/**
 * Resolves names by the system's name servers over c-ares. `dns.lookup` uses libuv's pool, four threads shared by the whole
 * process: four names with silent servers stop every other look-up. Here a silent server delays its own names only, with at most
 * one look-up of each in flight. The resolver reads no hosts file and no search domains, so only the public DNS defines a name.
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
 * Asks for both families, server after server. The look-up ends when both families answered, when one has addresses and the
 * other had its time, or when the look-up took too long. c-ares itself gives up a query before it asks the next server, and the
 * sooner the quicker a server was before. So each question has its own resolver, which asks one server once.
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
      // These codes describe the name; any other fault is one of the server.
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
    // An alias (CNAME) of a name without addresses: c-ares takes the alias alone for an answer.
    return addresses.length > 0 ? { addresses } : { fault: faultOfFamily('ENODATA', hostname, family) };
  } catch (fault) {
    return { fault };
  }
}

/** Returns IPv4 addresses first, which every network has; Node then alternates between the families (RFC 8305). */
function addressesOf(answer: Answer | undefined, family: Family): LookupAddress[] {
  return answer !== undefined && 'addresses' in answer ? answer.addresses.map((address) => ({ address, family })) : [];
}

/**
 * Returns the fault of the look-up. A name without addresses of one family may have some of the second if that could not be
 * asked.
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
