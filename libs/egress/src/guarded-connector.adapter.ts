import { lookup as dnsLookup, type LookupAddress } from 'node:dns';
import { isIP, isIPv6, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { isPublicAddress, openedLoopbacks, type EgressPolicy } from './address.js';
import { checkDestination } from './destination.js';

/** A connection that the policy forbids; no packet was sent. Its message is fit for the endpoint's owner. */
export class EgressDenied extends Error {
  override readonly name = 'EgressDenied';
  readonly code = 'EGRESS_DENIED';
}

/** Every address of a name, as `dns.lookup` with `all: true` answers it. */
export type ResolveAll = (
  hostname: string,
  options: { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface ConnectorOptions {
  /** Milliseconds for DNS, TCP and TLS together, kept by undici to about half a second; default 5,000. */
  readonly connectTimeoutMs?: number;
  readonly lookup?: ResolveAll;
  /** PEM of certificate authorities trusted instead of Node's own list. */
  readonly ca?: string;
}

/**
 * A connector for undici that vets every new connection: the URL's scheme, host and port by the rules of registration,
 * then every address its name resolves to. It connects to the addresses vetted, under the name's SNI and Host, so a
 * name that resolves differently a moment later gains nothing. One forbidden address among several refuses them all.
 */
export function guardedConnector(policy: EgressPolicy, options: ConnectorOptions = {}): buildConnector.connector {
  const connect = buildConnector({
    allowH2: false,
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true, // said aloud, so that NODE_TLS_REJECT_UNAUTHORIZED=0 changes nothing
    timeout: options.connectTimeoutMs ?? 5_000,
    lookup: vettedLookup(policy, options.lookup ?? dnsLookup),
    ...(options.ca === undefined ? {} : { ca: options.ca }),
  });
  return (target, callback) => {
    // Node calls no `lookup` for a literal, so what the lookup cannot see is vetted here.
    const host = isIPv6(target.hostname) ? `[${target.hostname}]` : target.hostname;
    const check = checkDestination(`${target.protocol}//${host}${target.port ? `:${target.port}` : ''}`, policy);
    if (check.ok) connect(target, callback);
    else queueMicrotask(() => callback(new EgressDenied(check.detail), null));
  };
}

function vettedLookup(policy: EgressPolicy, resolve: ResolveAll): LookupFunction {
  return (hostname, options, callback) => {
    const answer = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]): void => {
      const first = addresses?.[0];
      if (error !== null) callback(error, []);
      else if (first === undefined) callback(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), []);
      // The address itself stays unsaid: it would tell a stranger what a private name server knows.
      else if (!addresses.every(({ address }) => isPublicAddress(address, policy)))
        callback(new EgressDenied('The host name resolves to an address that is not public.'), []);
      else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    };
    if (hostname === 'localhost')
      answer(
        null,
        openedLoopbacks(policy).map((address) => ({ address, family: isIP(address) })),
      );
    else resolve(hostname, { all: true }, answer);
  };
}
