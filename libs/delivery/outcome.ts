import type { AttemptTiming } from '@relay/events';
import type { EndpointAnswer } from './endpoint-answer.js';

/** Why an attempt got no answer, in words that metrics and `relay.delivery-attempts` carry. */
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

/** Result of the sender. An answer counts when its head has arrived; `retryAfter` is that header as received. */
export type AttemptResult =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly retryAfter?: string | undefined;
      /** Undefined if the sender keeps none. */
      readonly answer?: EndpointAnswer;
      readonly durationMs: number;
      /** Set if the attempt failed or took at least 1 s. */
      readonly timing?: AttemptTiming;
    }
  | {
      readonly kind: 'failed';
      readonly error: AttemptError;
      readonly detail: string;
      /** Whether there was a connection, so that the request was written; undefined if none was to be made. */
      readonly isWritten?: boolean;
      readonly durationMs: number;
      readonly timing?: AttemptTiming;
    };

/** Meaning of an attempt. `notBefore`: the endpoint asked for no attempt before this time, which is after now. */
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
 * How far an attempt came, which shows whether its webhook or the whole origin failed: the origin answered, or began to; it took
 * the request and was silent; there was no connection; or the relay made no request.
 */
export type Reach = 'answered' | 'silent' | 'unreached' | 'unmade';

export function reachOf(result: AttemptResult): Reach {
  if (result.kind === 'answered' || result.error === 'protocol' || result.timing?.firstByteMs !== undefined)
    return 'answered';
  if (result.isWritten === undefined) return 'unmade';
  return result.isWritten ? 'silent' : 'unreached';
}

/** Longest time for which an endpoint can ask for no attempt. */
export const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/** Classifies a result by the table in docs/partners.md. */
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

// RFC 9110 section 5.6.7: the form to send, and the two obsolete ones that a recipient must accept. Date.parse alone takes `-1`
// for a year and reads the asctime form as local time.
const HTTP_DATE = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/,
];

/** RFC 9110 section 10.2.3: whole seconds or a date. Any other text, or a past date, is ignored. */
function retryAfterTime(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  let at = Number.NaN;
  if (/^\d+$/.test(text)) at = now + Number(text) * 1_000;
  else if (HTTP_DATE.some((form) => form.test(text))) at = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return at > now ? Math.min(at, now + MAX_RETRY_AFTER_MS) : undefined;
}

/** Failure of an attempt without a final status. */
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
  ProtocolFault: 'protocol', // by its name: it has no code
  EPROTO: 'tls',
  UNSPECIFIED: 'tls', // a certificate that OpenSSL refuses by a rule for which Node has no name, such as a weak key
};

const NO_CHAIN = 'the endpoint sends no intermediate certificate, or its authority is not publicly trusted';
/**
 * Words that a partner can act on, for codes whose text from Node, OpenSSL or c-ares is unclear or advises the relay's operator.
 */
const WORDS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'the certificates lead to an authority that is not publicly trusted',
  UNABLE_TO_GET_ISSUER_CERT: NO_CHAIN,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: NO_CHAIN,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: NO_CHAIN,
  // Node's own text quotes the certificate, in which an endpoint may repeat parts of a request.
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

// Node's TLS layer, and OpenSSL's X509_V_ERR_* names as Node reports them.
const TLS =
  /^(ERR_TLS_|ERR_SSL_|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERROR_IN_C|INVALID_|PATH_LENGTH_|HOSTNAME_)/;

/** Names an error of the answer, the socket, DNS or TLS by its code; an error without a known code is `unknown`. */
export function httpFailure(fault: unknown): Failure {
  const { code, name, message, syscall, reason, errors }: Record<string, unknown> = Object(fault);
  const key = [code, name].find(isText) ?? '';
  // ECONNREFUSED of a look-up means the name server; c-ares names its calls queryA and queryAaaa.
  const isDns = isText(syscall) && syscall.startsWith('query');
  // An open connection was lost; otherwise the connection was never opened.
  const isLost = key === 'ETIMEDOUT' && isText(syscall) && syscall !== 'connect';
  const error = isDns ? 'dns' : isLost ? 'reset' : (BY_CODE[key] ?? (TLS.test(key) ? 'tls' : 'unknown'));
  const words = isDns ? withCode(DNS_WORDS[key], key) : (WORDS[key] ?? everyAddress(errors));
  // OpenSSL's message has the address of a thread and the path of a source file; its reason is the part for people.
  return { error, detail: ([words, reason, message, key].find(isText) ?? 'unknown error').slice(0, MAX_DETAIL) };
}

const withCode = (words: string | undefined, code: string): string | undefined =>
  words === undefined ? undefined : `${words} (${code})`;

/** An AggregateError, because every address of a name failed, has no message. */
function everyAddress(errors: unknown): string | undefined {
  if (!Array.isArray(errors)) return undefined;
  const codes = new Set(errors.map((each) => String(Object(each).code)));
  return `no address of the host name could be connected to (${[...codes].join(', ')})`;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
