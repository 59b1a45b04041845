import type { LookupAddress } from 'node:dns';
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, isIPv6, Socket, type LookupFunction } from 'node:net';
import type { buildConnector } from 'undici';
// Undici's index loads a whole client that the relay does not use: 16 MiB, and 100 ms of each start.
import openConnector from 'undici/lib/core/connect.js';
import { isPublicAddress, openedLoopbacks, type EgressPolicy } from './address.js';
import { checkDestination } from './destination.js';
import { nameResolver, type ResolveAll } from './name-resolver.adapter.js';

/** The policy forbids a connection; no packet was sent. The message may be shown to the endpoint's partner. */
export class EgressDenied extends Error {
  override readonly name = 'EgressDenied';
  readonly code = 'EGRESS_DENIED';
}

export interface ConnectorOptions {
  /** Milliseconds for DNS, TCP and TLS together, to within half a second; default 5,000. */
  readonly connectTimeoutMs?: number;
  readonly resolve?: ResolveAll;
  /** PEM of certificate authorities trusted instead of Node's own list. */
  readonly ca?: string;
  /** `http://[user:password@]host:port` of a proxy for every connection. */
  readonly proxyUrl?: string | undefined;
}

/** When the steps to a connection were done, by `performance.now()`. A step that was not taken, or not done, has no time. */
export interface ConnectTimes {
  /** The name was resolved. */
  resolvedAt?: number;
  /** TCP was connected; with a proxy, its tunnel. */
  connectedAt?: number;
}

/** A connector for undici. It notes in `times` when its steps were done. */
export type TimedConnector = (
  target: buildConnector.Options,
  callback: buildConnector.Callback,
  times?: ConnectTimes,
) => void;

/** Milliseconds for each address of a name: few enough that one silent address does not make an endpoint slow. */
const ATTEMPT_MS = 800;

/** Error codes of a machine without a route to an address. */
const NO_WAY: ReadonlySet<string> = new Set(['ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT']);

/** Bytes that an endpoint can send before any is read. A socket option that undici's types lack. */
const BUFFERED = { highWaterMark: 16_384 };

/**
 * A connector for undici that checks every new connection: the URL's scheme, host and port by the rules of registration, then
 * every address that the look-up of its name brought. It connects to these checked addresses only, with the name as SNI and Host,
 * so a name that resolves differently a moment later gains nothing. One forbidden address among several forbids the connection.
 *
 * With a proxy this connector checks the URL and the proxy resolves the name, so the proxy itself must refuse private addresses;
 * TLS stays between the relay and the endpoint.
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
      // By default Node gives up an address after 250 ms: too soon for another continent.
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
    // Node calls no `lookup` for a literal address, so it is checked here.
    const host = isIPv6(target.hostname) ? `[${target.hostname}]` : target.hostname;
    const check = checkDestination(`${target.protocol}//${host}${target.port ? `:${target.port}` : ''}`, policy);
    if (check.ok) connect(target, callback, times);
    else queueMicrotask(() => callback(new EgressDenied(check.detail), null));
  };
}

/**
 * Connects by the family whose addresses came first. A machine without a route to it reports this at once; only then does the
 * connector wait for the second family.
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
    // The message omits the address, which could reveal the data of a private name server to a stranger.
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

/** The proxy was not reached or made no connection. The message omits its address, since the endpoint's partner reads it. */
class ProxyRefused extends Error {
  override readonly name = 'ProxyRefused';
  readonly code = 'EGRESS_PROXY';
}

/**
 * Connects to every target through a tunnel of the proxy (RFC 9110 section 9.3.6), also for plain HTTP: the proxy sees names and
 * ports, never a credential or a payload. undici's ProxyAgent builds the same tunnel but takes no connector that could check the
 * target.
 * @param secure makes TLS over the tunnel's socket
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
        // An answer with a body is a page of the proxy and no tunnel. If it were accepted, its body would be read as the
        // endpoint's bytes.
        const { 'content-length': length = '0', 'transfer-encoding': encoding } = response.headers;
        if (response.statusCode !== 200 || head.length > 0 || Number(length) !== 0 || encoding !== undefined) {
          socket.destroy();
          end(refusal(response), null);
        } else if (target.protocol === 'https:') {
          times.connectedAt = performance.now();
          clearTimeout(deadline); // TLS has its own timeout
          socket.on('error', noop); // the TLS socket reports its faults
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

/** Node names what its parser refuses `HPE_…`, and a connection that closes without an answer `ECONNRESET`. */
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
