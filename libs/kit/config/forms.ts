import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { z } from 'zod';
import { list } from './env.js';

// Checks of variables that drivers parse. If a driver cannot parse a text, it prints the text, which may be a password.
// Therefore the text is checked here first, and the messages here never repeat a value.

const HOST = /^(?:\[[\da-f:.]+\]|[\w.-]+)$/i;

/** Whether a text is host:port. An IPv6 address may be in brackets. */
function isPlace(text: string, isPortNeeded: boolean): boolean {
  const [, host = '', port] = /^(.*?)(?::(\d{1,5}))?$/.exec(text) ?? [];
  const isHost = HOST.test(host) || (port !== undefined && isIPv6(host));
  return isHost && (port === undefined ? !isPortNeeded : Number(port) > 0 && Number(port) <= 65_535);
}

/** Comma-separated addresses as host:port. @param port whether each address must have a port */
export const places = (port: 'needed' | 'optional' = 'needed') =>
  list().superRefine((given, context) => {
    const wrong = given.flatMap((place, index) => (isPlace(place, port === 'needed') ? [] : [index + 1]));
    if (wrong.length > 0)
      context.addIssue({
        code: 'custom',
        message: `entry ${wrong.join(', ')}: host:port is expected, comma separated, without a scheme, quotes, user or password`,
      });
  });

/**
 * A name that a server compares byte by byte. White space is refused, because a line break at the end makes it another name.
 */
export const name = () => z.string().regex(/^[\x21-\x7e]+$/, 'printable ASCII without white space is expected');

/** Text without line breaks, such as a user name or a password. */
export const line = () => z.string().regex(/^\P{Cc}*$/u, 'text without control characters is expected');

interface UrlForm {
  /** `redis` or `http`. The secure scheme with an `s` at its end is also allowed. */
  readonly scheme: string;
  /** Whether the URL may contain a user name and a password. */
  readonly login: boolean;
  /** Pattern for the text after host and port; by default any path without a query. */
  readonly rest?: RegExp;
}

export const urlOf = (form: UrlForm) =>
  z.string().superRefine((text, context) => {
    const message = urlFault(text, form);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });

const SECURE = /^https:\/\/[^@\s]+$|^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(\/\S*)?$/;

/** A URL whose server TLS proves, or a URL of this machine. */
export const secureUrl = () =>
  z
    .string()
    .refine(
      (text) => SECURE.test(text) && URL.canParse(text),
      'an https:// URL is expected, or http:// of this machine',
    );

function urlFault(text: string, { scheme, login, rest = /^[^?]*$/ }: UrlForm): string | undefined {
  if (!new RegExp(`^${scheme}s?://`).test(text)) return `a ${scheme}:// or ${scheme}s:// URL is expected`;
  const url = URL.parse(text);
  const behind = url === null ? '' : url.pathname + url.search + url.hash;
  // If a password contains an unencoded character such as `/`, the host ends too early. The rest of the password and the `@`
  // then follow the host.
  const isWhole =
    url !== null && url.hostname !== '' && !/[@#\s]/.test(behind) && [url.username, url.password].every(isEncoded);
  if (!isWhole)
    return login
      ? 'it cannot be read: percent-encode the password and the user (# is %23, % is %25, / is %2F, ? is %3F, @ is %40)'
      : `it cannot be read: ${scheme}s://host:port is expected`;
  if (!login && url.username + url.password !== '') return 'it may have no user and no password';
  return rest.test(behind) ? undefined : 'what stands behind the host is not expected';
}

function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/** One or more certificates, or a private key without a passphrase, in PEM. */
export const pem = (what: 'CERTIFICATE' | 'PRIVATE KEY') =>
  z
    .string()
    .refine(
      (text) => isReadable(() => (what === 'CERTIFICATE' ? certificates(text) : createPrivateKey(text))),
      what === 'CERTIFICATE'
        ? 'PEM is expected, from -----BEGIN CERTIFICATE----- on, with its line breaks'
        : 'PEM of a private key without a passphrase is expected, with its line breaks',
    );

function certificates(text: string): X509Certificate[] {
  const found = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [''];
  return found.map((one) => new X509Certificate(one));
}

function isReadable(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns arguments for `refine` that report a fault in the combination of several variables, even if other variables are
 * wrong too.
 */
export function without(faultOf: (env: unknown) => string | undefined) {
  const error = ({ input }: { input?: unknown }): string | undefined => faultOf(input);
  return [(env: unknown): boolean => faultOf(env) === undefined, { error, when: () => true }] as const;
}
