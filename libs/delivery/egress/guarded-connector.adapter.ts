import type { LookupAddress } from 'node:dns';
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, isIPv6, Socket, type LookupFunction } from 'node:net';
import type { buildConnector } from 'undici';
// Importing undici's index would load a whole client, otherwise unused: 16 MiB of memory and 100 ms at each start.
import openConnector from 'undici/lib/core/connect.js';
import { isPublicAddress, openedLoopbacks, type EgressPolicy } from './address.js';
import { checkDestination } from './destination.js';
import { nameResolver, type ResolveAll } from './name-resolver.adapter.js';

/** The policy forbids a connection, and no packet was sent. The message may be shown to the endpoint's partner. */
export class EgressDenied extends Error {
  override readonly name = 'EgressDenied';
  readonly code = 'EGRESS_DENIED';
}

export interface ConnectorOptions {
  /** Maximum of milliseconds for DNS, TCP and TLS together, accurate to half a second; default 5,000. */
  readonly connectTimeoutMs?: number;
  readonly resolve?: ResolveAll;
  /** Certificate authorities in PEM, trusted instead of Node's own list. */
  readonly ca?: string;
  /** URL of a proxy for all connections, as `http://[user:password@]host:port`. */
  readonly proxyUrl?: string | undefined;
}

/** When the steps of connecting ended, by `performance.now()`. A step that was skipped or did not end has no time. */
export interface ConnectTimes {
  /** Time at which the name was resolved. */
  resolvedAt?: number;
  /** Time at which TCP was connected; with a proxy, the time at which its tunnel was open. */
  connectedAt?: number;
}

/** A connector for undici that also stores in `times` when its steps ended. */
export type TimedConnector = (
  target: buildConnector.Options,
  callback: buildConnector.Callback,
  times?: ConnectTimes,
) => void;

/**
 * Milliseconds to connect to one address of a name, before the next address is tried. It is short, so that one address that
 * does not respond delays an endpoint only a little.
 */
const ATTEMPT_MS = 800;

/** Error codes that a machine without a route to an address reports. */
const NO_WAY: ReadonlySet<string> = new Set(['ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT']);

/** Bytes from the endpoint that a socket buffers before they are read. undici's types lack this socket option. */
const BUFFERED = { highWaterMark: 16_384 };

/**
 * A connector for undici that checks every new connection. It first checks scheme, host and port of the URL by the rules of
 * registration. Then it resolves the host name and checks every address. If one of several addresses is forbidden, the
 * connection is refused. It connects only to the addresses that it has checked, with the host name as SNI and Host.
 * Therefore a name that resolves to another address a moment later (DNS rebinding) has no effect.
 *
 * With a proxy, this connector checks only the URL. The proxy resolves the name, so it must refuse private addresses itself.
 * TLS is still made between the relay and the endpoint.
 */
export function guardedConnector(policy: EgressPolicy, options: ConnectorOptions = {}): TimedConnector {
  const connectTimeoutMs = options.connectTimeoutMs ?? 5_000;
  const resolve = options.resolve ?? nameResolver();
  const connectorBy = (lookup: LookupFunction): buildConnector.connector =>
    openConnector({
      allowH2: false,
      minVersion: 'TLSv1.2',
      rejectUnauthorized: true, // explicit, so that NODE_TLS_REJECT_UNAUTHORIZED=0 has no effect
      timeout: connectTimeoutMs,
      // By default Node tries the next address after 250 ms, which is too soon for an endpoint on another continent.
      autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
      ...BUFFERED,
      lookup,
      ...(options.ca === undefined ? {} : { ca: options.ca }),
    });
  const direct = connectorBy(vettedLookup(policy, resolve));
  const connect =
    options.proxyUrl === undefined
      ? timed(direct, connectorBy(vettedLookup(policy, (hostname) => resolve(hostname, true))))
      : tunnelThrough(new URL(options.proxyUrl), direct, connectTimeoutMs);
  return (target, callback, times = {}) => {
    // Node does not call `lookup` if the host is an IP address, so the address is checked here.
    const host = isIPv6(target.hostname) ? `[${target.hostname}]` : target.hostname;
    const check = checkDestination(`${target.protocol}//${host}${target.port ? `:${target.port}` : ''}`, policy);
    if (check.ok) connect(target, callback, times);
    else queueMicrotask(() => callback(new EgressDenied(check.detail), null));
  };
}

/**
 * Connects to the addresses of the family (IPv4 or IPv6) that DNS returned first. If the machine has no route to this
 * family, it reports so at once, and the connector waits for the addresses of the second family.
 */
function timed(quick: buildConnector.connector, patient: buildConnector.connector): TimedConnector {
  return (target, callback, times = {}) => {
    const families = new Set<unknown>();
    const begin = (connect: buildConnector.connector, done: buildConnector.Callback): void => {
      // undici's connector returns the socket that it connects, which its types leave out.
      const socket: unknown = connect(target, done);
      if (!(socket instanceof Socket)) return;
      socket
        .on('lookup', (fault: Error | null, _address: unknown, family: unknown) => {
          if (fault !== null) return;
          families.add(family);
          times.resolvedAt ??= performance.now();
        })
        .once('connect', () => (times.connectedAt = performance.now()));
    };
    begin(quick, (...[fault, socket]) => {
      if (fault === null) callback(null, socket);
      else if (families.size === 1 && NO_WAY.has(String(Object(fault).code))) begin(patient, callback);
      else callback(fault, null);
    });
  };
}

function vettedLookup(policy: EgressPolicy, resolve: ResolveAll): LookupFunction {
  const vetted = async (hostname: string): Promise<LookupAddress[]> => {
    const addresses =
      hostname === 'localhost'
        ? openedLoopbacks(policy).map((address) => ({ address, family: isIP(address) }))
        : [...(await resolve(hostname))];
    if (addresses.length === 0) throw Object.assign(new Error('no address'), { code: 'ENOTFOUND' });
    // The message omits the address, because it could reveal the contents of a private name server to a stranger.
    if (!addresses.every(({ address }) => isPublicAddress(address, policy)))
      throw new EgressDenied('The host name resolves to an address that is not public.');
    return addresses;
  };
  return (hostname, options, callback) => {
    const answer = async (): Promise<void> => {
      try {
        const addresses = await vetted(hostname);
        const [first] = addresses;
        if (options.all === true || first === undefined) process.nextTick(callback, null, addresses);
        else process.nextTick(callback, null, first.address, first.family);
      } catch (fault) {
        process.nextTick(callback, fault, []);
      }
    };
    void answer();
  };
}

const PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/**
 * The proxy could not be reached or opened no tunnel. The message omits the proxy's address, because the endpoint's partner
 * reads it.
 */
class ProxyRefused extends Error {
  override readonly name = 'ProxyRefused';
  readonly code = 'EGRESS_PROXY';
}

/**
 * Connects to every target through a tunnel of the proxy (RFC 9110 section 9.3.6), also for plain HTTP. If the target uses
 * HTTPS, the proxy learns only its name and port. undici's ProxyAgent opens the same tunnel but accepts no connector that
 * could check the target.
 * @param secure opens TLS on the socket of the tunnel
 */
function tunnelThrough(proxy: URL, secure: buildConnector.connector, timeoutMs: number): TimedConnector {
  return (target, callback, times = {}) => {
    const host = isIPv6(target.hostname) ? `[${target.hostname}]` : target.hostname;
    const authority = `${host}:${target.port || PORTS[target.protocol]}`;
    const request = connectRequest(proxy, authority);
    let ended = false;
    const end = (fault: Error | null, socket: Socket | null): void => {
      if (ended) return void socket?.destroy();
      ended = true;
      clearTimeout(deadline);
      if (fault === null && socket !== null) callback(null, socket);
      else callback(fault ?? new ProxyRefused('the egress proxy made no connection'), null);
    };
    const deadline = setTimeout(() => {
      end(
        Object.assign(new Error('the egress proxy did not answer in time'), { code: 'UND_ERR_CONNECT_TIMEOUT' }),
        null,
      );
      request.destroy();
    }, timeoutMs);
    request
      .on('error', (fault) => end(new ProxyRefused(troubleOf(fault)), null))
      .on('response', (response) => {
        end(refusal(response), null);
        request.destroy();
      })
      .on('connect', (response: IncomingMessage, socket: Socket, head: Buffer) => {
        // A response with a body is an error page of the proxy, not a tunnel. If it were accepted, the page would be read as
        // the endpoint's response.
        const { 'content-length': length = '0', 'transfer-encoding': encoding } = response.headers;
        if (response.statusCode !== 200 || head.length > 0 || Number(length) !== 0 || encoding !== undefined) {
          socket.destroy();
          end(refusal(response), null);
        } else if (target.protocol === 'https:') {
          times.connectedAt = performance.now();
          clearTimeout(deadline); // TLS has its own timeout
          socket.on('error', noop); // the TLS socket reports errors
          secure({ ...target, httpSocket: socket }, (...[fault, over]) => end(fault, over));
        } else {
          times.connectedAt = performance.now();
          end(null, socket.setNoDelay(true));
        }
      })
      .end();
  };
}

function connectRequest(proxy: URL, authority: string): ClientRequest {
  const userInfo = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return (proxy.protocol === 'https:' ? httpsRequest : httpRequest)({
    host: proxy.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: proxy.port || (PORTS[proxy.protocol] ?? 80),
    method: 'CONNECT',
    path: authority,
    agent: false,
    headers: {
      host: authority,
      ...(proxy.username === ''
        ? {}
        : { 'proxy-authorization': `Basic ${Buffer.from(userInfo, 'utf8').toString('base64')}` }),
    },
  });
}

/**
 * Describes a failure of the proxy. Node's codes are `HPE_…` for a response that its parser refuses, and `ECONNRESET` for
 * a connection that closes without a response.
 */
function troubleOf(fault: object): string {
  const code = String(Reflect.get(fault, 'code'));
  if (code.startsWith('HPE_')) return 'the egress proxy did not answer in HTTP';
  if (code === 'ECONNRESET') return 'the egress proxy closed the connection without an answer';
  return 'the egress proxy cannot be reached';
}

const refusal = ({ statusCode }: IncomingMessage): Error =>
  new ProxyRefused(
    statusCode === 200
      ? 'the egress proxy answered 200 with a text of its own, and made no tunnel'
      : `the egress proxy answered ${statusCode ?? 'nothing'}`,
  );

function noop(): void {}
