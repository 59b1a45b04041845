import type { AttemptResult } from './outcome.js';

/** Failure of an attempt without a final status. */
export type Failure = Pick<Extract<AttemptResult, { kind: 'failed' }>, 'error' | 'detail'>;

const MAX_DETAIL = 200;
/** Node's own text quotes the certificate, in which an endpoint may repeat what it was sent. */
const OTHER_NAMES = 'the certificate is for other names';

const BY_CODE: Readonly<Record<string, Failure['error']>> = {
  EGRESS_DENIED: 'egress-denied',
  EGRESS_PROXY: 'refused',
  UND_ERR_CONNECT_TIMEOUT: 'connect-timeout',
  ETIMEDOUT: 'connect-timeout',
  ENOTFOUND: 'dns',
  ECONNREFUSED: 'refused',
  EHOSTUNREACH: 'refused',
  ENETUNREACH: 'refused',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  ProtocolFault: 'protocol', // by its name: it has no code
  EPROTO: 'tls',
};

// Node's TLS layer, and OpenSSL's X509_V_ERR_* names as Node reports them.
const BY_PATTERN: readonly (readonly [RegExp, Failure['error']])[] = [
  [
    /^(ERR_TLS_|ERR_SSL_|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|ERROR_IN_C|INVALID_|PATH_LENGTH_|HOSTNAME_)/,
    'tls',
  ],
];

/** Names an error of the answer, the socket, DNS or TLS by its code; an error without a known code is `unknown`. */
export function httpFailure(fault: unknown): Failure {
  const { code, name, message, syscall }: Record<string, unknown> = Object(fault);
  const key = [code, name].find(isText) ?? '';
  // ECONNREFUSED of a look-up means the name server; c-ares names its calls queryA and queryAaaa.
  const isDns = isText(syscall) && syscall.startsWith('query');
  const error = isDns ? 'dns' : (BY_CODE[key] ?? BY_PATTERN.find(([pattern]) => pattern.test(key))?.[1] ?? 'unknown');
  // An AggregateError (every address of a name failed) has a code and no message.
  const said = key === 'ERR_TLS_CERT_ALTNAME_INVALID' ? OTHER_NAMES : message;
  return { error, detail: ([said, key].find(isText) ?? 'unknown error').slice(0, MAX_DETAIL) };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
