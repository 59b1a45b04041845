import { isIP } from 'node:net';
import { isOpened, isPublicAddress, openedLoopbacks, type EgressPolicy } from './address.js';

/**
 * Result of a check. `url` is the normalised URL; store and use it instead of the original text. `detail` names the rule
 * that the URL breaks.
 */
export type DestinationCheck =
  | { readonly ok: true; readonly url: string; readonly origin: string }
  | { readonly ok: false; readonly detail: string };

const MAX_LENGTH = 2_048;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' };

// Names that have a meaning only inside a network, or no meaning in the DNS: RFC 6761, RFC 6762 (and its appendix G), RFC
// 7686, RFC 8375, ICANN's .internal, and Kubernetes.
const LOCAL_NAME =
  /(^|\.)(localhost|localhost6|localdomain|localdomain6|local|internal|intranet|private|corp|home|lan|home\.arpa|svc|onion)$/;

/**
 * RFC 1035 section 2.3.4: labels of 1 to 63 octets, and at most 253 octets including the dots. Underscores are allowed
 * because real host names have them.
 */
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;

/**
 * Checks whether an endpoint may have this URL, by its text alone. The addresses of a host name are checked later, whenever
 * the relay connects. The check uses the output of the WHATWG parser, which converts every notation of an IPv4 address
 * (octal, hexadecimal, one number, full-width digits) to dotted decimal.
 */
export function checkDestination(text: string, policy: EgressPolicy): DestinationCheck {
  if (text.length > MAX_LENGTH) return tooLong;
  // The parser drops or encodes control characters. If they were allowed, the URL that is called would differ from the URL
  // that is shown.
  if (/\p{Cc}/u.test(text)) return refused('The URL must not contain control characters.');
  const url = URL.parse(text);
  if (url === null) return refused('The URL must be absolute and valid, such as https://example.com/webhooks.');
  if (url.href.length > MAX_LENGTH) return tooLong;
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && policy.allowHttp))
    return refused('The URL must begin with https://.');
  if (url.username !== '' || url.password !== '') return refused('The URL must not contain a user name or password.');
  if (url.href.includes('#')) return refused('The URL must not contain a fragment.');
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const detail = forbiddenHost(host, policy) ?? forbiddenPort(host, url, policy);
  return detail === undefined ? { ok: true, url: url.href, origin: url.origin } : refused(detail);
}

function forbiddenHost(host: string, policy: EgressPolicy): string | undefined {
  if (isIP(host) !== 0) return isPublicAddress(host, policy) ? undefined : 'The URL must lead to a public address.';
  if (host.endsWith('.')) return 'The host name must not end with a dot.';
  if (!HOST_NAME.test(host))
    return 'The host name must have labels of 1 to 63 letters, digits, hyphens or underscores, and at most 253 characters.';
  if (host === 'localhost' && openedLoopbacks(policy).length > 0) return undefined;
  if (LOCAL_NAME.test(host)) return 'The host name must be a public one, such as hooks.example.com.';
  if (!host.includes('.')) return 'The host name must be fully qualified, such as hooks.example.com.';
  return undefined;
}

function forbiddenPort(host: string, url: URL, policy: EgressPolicy): string | undefined {
  // The parser omits the scheme's default port.
  if (policy.ports.has(url.port || (DEFAULT_PORTS[url.protocol] ?? ''))) return undefined;
  if (host === 'localhost' || isOpened(host, policy)) return undefined;
  return `The port must be one of ${[...policy.ports].join(', ')}.`;
}

const tooLong = refused('The URL must be at most 2,048 characters long.');

function refused(detail: string): DestinationCheck {
  return { ok: false, detail };
}
