import type { AttemptTiming } from '@relay/events';
import type { EndpointAnswer } from './endpoint-answer.js';

/** Why an attempt got no response. Metrics and the topic `relay.delivery-attempts` use these words. */
export const ATTEMPT_ERRORS = [
  'timeout',
  'connect-timeout',
  'dns',
  'tls',
  'reset',
  'refused',
  'egress-denied',
  'protocol',
  'unknown',
] as const;
export type AttemptError = (typeof ATTEMPT_ERRORS)[number];

/**
 * Result of the sender. An attempt is answered as soon as the response headers have arrived. `retryAfter` is the
 * `Retry-After` header as received.
 */
export type AttemptResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly retryAfter?: string | undefined;
      /** Undefined if the sender keeps no responses. */
      readonly answer?: EndpointAnswer;
      readonly durationMs: number;
      /** Set if the status is not 2xx, or if the attempt took at least 1 s. */
      readonly timing?: AttemptTiming;
    }
  | {
      readonly kind: 'failed';
      readonly error: AttemptError;
      readonly detail: string;
      /** Whether the request was written to a connection; undefined if the relay made no request at all. */
      readonly isWritten?: boolean;
      readonly durationMs: number;
      readonly timing?: AttemptTiming;
    };

/**
 * Meaning of the result of an attempt. `notBefore` is set if the endpoint asked for no attempt before that time, which is
 * always in the future.
 */
export type Outcome =
  | { readonly kind: 'delivered'; readonly status: number }
  | { readonly kind: 'gone'; readonly status: 410 }
  | {
      readonly kind: 'failed';
      readonly status?: number;
      readonly error?: AttemptError;
      readonly detail: string;
      readonly notBefore?: number;
    };

/**
 * How far an attempt came. This shows whether only its webhook failed or the whole origin.
 * - `answered`: the origin responded, or began to.
 * - `silent`: the request was written, but no response came.
 * - `unreached`: no connection could be opened.
 * - `unmade`: the relay made no request.
 */
export type Reach = 'answered' | 'silent' | 'unreached' | 'unmade';

export function reachOf(result: AttemptResult): Reach {
  if (result.kind === 'answered' || result.error === 'protocol' || result.timing?.firstByteMs !== undefined)
    return 'answered';
  if (result.isWritten === undefined) return 'unmade';
  return result.isWritten ? 'silent' : 'unreached';
}

/** Longest pause that an endpoint can ask for. */
export const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/** Returns what a result means, by the table in docs/integrate/answers.md. */
export function classify(result: AttemptResult, now: number): Outcome {
  if (result.kind === 'failed') return { kind: 'failed', error: result.error, detail: result.detail };
  const { status } = result;
  if (status >= 200 && status < 300) return { kind: 'delivered', status };
  if (status === 410) return { kind: 'gone', status };
  const detail =
    status >= 300 && status < 400 ? `answered ${status}; redirects are not followed` : `answered ${status}`;
  const notBefore = status === 429 || status === 503 ? retryAfterTime(result.retryAfter, now) : undefined;
  return { kind: 'failed', status, detail, ...(notBefore === undefined ? {} : { notBefore }) };
}

// RFC 9110 section 5.6.7: the form that servers must send, and two obsolete forms that a recipient must accept. `Date.parse`
// alone is not enough: it reads `-1` as a year, and the asctime form as local time.
const HTTP_DATE = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/,
];

/**
 * Returns the time in a `Retry-After` header: RFC 9110 section 10.2.3 allows whole seconds or a date. Any other text and a
 * past date are ignored.
 */
function retryAfterTime(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  let at = Number.NaN;
  if (/^\d+$/.test(text)) at = now + Number(text) * 1_000;
  else if (HTTP_DATE.some((form) => form.test(text))) at = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return at > now ? Math.min(at, now + MAX_RETRY_AFTER_MS) : undefined;
}

/** Why an attempt failed that got no final status. */
export type Failure = Pick<Extract<AttemptResult, { kind: 'failed' }>, 'error' | 'detail'>;

const MAX_DETAIL = 200;
const BY_CODE: Readonly<Record<string, Failure['error']>> = {
  EGRESS_DENIED: 'egress-denied',
  EGRESS_PROXY: 'refused',
  UND_ERR_CONNECT_TIMEOUT: 'connect-timeout',
  ETIMEDOUT: 'connect-timeout',
  ENOTFOUND: 'dns',
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'refused',
  ENETUNREACH: 'refused',
  EHOSTDOWN: 'refused',
  ENETDOWN: 'refused',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  ProtocolFault: 'protocol', // the name of the error, which has no code
  EPROTO: 'tls',
  UNSPECIFIED: 'tls', // OpenSSL refuses the certificate by a rule that has no name in Node, such as a weak key
};

const NO_CHAIN = 'the endpoint sends no intermediate certificate, or its authority is not publicly trusted';
/**
 * Texts that tell a partner what to do. They replace texts of Node, OpenSSL or c-ares that are unclear or that advise the
 * operator of the relay.
 */
const WORDS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificates lead to an authority that is not publicly trusted',
  UNABLE_TO_GET_ISSUER_CERT: NO_CHAIN,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: NO_CHAIN,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: NO_CHAIN,
  // Node's own text quotes the certificate, and an endpoint may repeat parts of a request in its certificate.
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for other names',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the endpoint does not speak TLS on this port',
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: 'the endpoint takes neither TLS 1.2 nor 1.3',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'the endpoint takes neither TLS 1.2 nor 1.3',
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: 'the endpoint does not take HTTP/1.1 (by ALPN), which is needed',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: 'the endpoint demands a client certificate, and the relay has none',
  'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE':
    'the endpoint refused the TLS handshake: it takes no common cipher, or demands a client certificate',
};
const DNS_WORDS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host name does not exist',
  ENODATA: 'the host name has no address',
  ESERVFAIL: 'the name servers of the host name fail',
  ETIMEOUT: 'no name server answered in time',
  ECONNREFUSED: 'the name servers of the relay cannot be reached',
};

// Codes of Node's TLS layer, and OpenSSL's X509_V_ERR_* names as Node reports them.
const TLS =
  /^(ERR_TLS_|ERR_SSL_|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERROR_IN_C|INVALID_|PATH_LENGTH_|HOSTNAME_)/;

/**
 * Returns the kind and the text of an error of the response, the socket, DNS or TLS, by its code. If the code is not known,
 * the kind is `unknown`.
 */
export function httpFailure(fault: unknown): Failure {
  const { code, name, message, syscall, reason, errors }: Record<string, unknown> = Object(fault);
  const key = [code, name].find(isText) ?? '';
  // A look-up's ECONNREFUSED comes from the name server, not from the endpoint. The system calls of c-ares are queryA and
  // queryAaaa.
  const isDns = isText(syscall) && syscall.startsWith('query');
  // ETIMEDOUT of `connect` means that no connection was opened. ETIMEDOUT of any other call means that an open one was lost.
  const isLost = key === 'ETIMEDOUT' && isText(syscall) && syscall !== 'connect';
  const error = isDns ? 'dns' : isLost ? 'reset' : (BY_CODE[key] ?? (TLS.test(key) ? 'tls' : 'unknown'));
  const words = isDns ? withCode(DNS_WORDS[key], key) : (WORDS[key] ?? everyAddress(errors));
  // OpenSSL's message contains the address of a thread and the path of a source file. Its `reason` is the readable part.
  return { error, detail: ([words, reason, message, key].find(isText) ?? 'unknown error').slice(0, MAX_DETAIL) };
}

const withCode = (words: string | undefined, code: string): string | undefined =>
  words === undefined ? undefined : `${words} (${code})`;

/**
 * Describes an AggregateError, which has no message of its own. It means that the connection failed to every address of a
 * name.
 */
function everyAddress(errors: unknown): string | undefined {
  if (!Array.isArray(errors)) return undefined;
  const codes = new Set(errors.map((each) => String(Object(each).code)));
  return `no address of the host name could be connected to (${[...codes].join(', ')})`;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
