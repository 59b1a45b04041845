import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIPv6, type Socket } from 'node:net';
import type { buildConnector } from 'undici';
import type { TimedConnector } from './guarded-connector.adapter.js';

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
export function tunnelThrough(proxy: URL, secure: buildConnector.connector, timeoutMs: number): TimedConnector {
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
