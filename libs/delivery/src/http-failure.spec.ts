import { errors } from 'undici';
import { ProtocolFault } from './answer-head.js';
import { httpFailure } from './http-failure.js';
import { UnwritableRequest } from './request-bytes.js';

describe('httpFailure', () => {
  it.each([
    ['ECONNREFUSED', 'refused'],
    ['EHOSTUNREACH', 'refused'],
    ['ENETUNREACH', 'refused'],
    ['ECONNRESET', 'reset'],
    ['EPIPE', 'reset'],
    ['ETIMEDOUT', 'connect-timeout'],
    ['ENOTFOUND', 'dns'],
    ['EGRESS_PROXY', 'refused'],
    ['EGRESS_DENIED', 'egress-denied'],
    ['CERT_HAS_EXPIRED', 'tls'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'tls'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls'],
    ['ERR_SSL_UNSUPPORTED_PROTOCOL', 'tls'],
    ['EPROTO', 'tls'],
    ['EMFILE', 'unknown'],
    ['UND_ERR_INVALID_ARG', 'unknown'],
  ])('names %s %s', (code, error) => {
    expect(httpFailure(Object.assign(new Error('told'), { code }))).toEqual({ error, detail: 'told' });
  });

  it.each(['ETIMEOUT', 'ESERVFAIL', 'ENODATA', 'ENOTFOUND', 'ECONNREFUSED', 'EBADRESP'])(
    'names %s of a look-up dns',
    (code) => {
      const fault = Object.assign(new Error(`queryA ${code} e.example`), { code, syscall: 'queryA' });
      expect(httpFailure(fault)).toEqual({ error: 'dns', detail: fault.message });
    },
  );

  it('repeats no name of a certificate, which the endpoint chooses', () => {
    const said = "Host: e.example. is not in the cert's altnames: DNS:what-was-sent.example";
    const fault = Object.assign(new Error(said), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    expect(httpFailure(fault)).toEqual({ error: 'tls', detail: 'the certificate is for other names' });
  });

  it.each([
    [new errors.ConnectTimeoutError(), 'connect-timeout'],
    [new ProtocolFault('bad'), 'protocol'],
    [new UnwritableRequest('bad'), 'unknown'],
  ])('names what the connector, the reader and the writer throw: %s', (fault, error) => {
    expect(httpFailure(fault)).toEqual({ error, detail: fault.message });
  });

  it.each([
    [Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }), { error: 'refused', detail: 'ECONNREFUSED' }],
    [new Error('x'.repeat(5_000)), { error: 'unknown', detail: 'x'.repeat(200) }],
    [undefined, { error: 'unknown', detail: 'unknown error' }],
    ['text', { error: 'unknown', detail: 'unknown error' }],
    [
      { code: 42, message: null },
      { error: 'unknown', detail: 'unknown error' },
    ],
  ])('has a short text for every fault', (fault, failure) => {
    expect(httpFailure(fault)).toEqual(failure);
  });
});
