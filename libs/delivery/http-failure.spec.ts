import { errors } from 'undici';
import { ProtocolFault } from './answer-reader.js';
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
    ['UNSPECIFIED', 'tls'],
    ['EHOSTDOWN', 'refused'],
    ['ENETDOWN', 'refused'],
    ['EPROTO', 'tls'],
    ['EMFILE', 'unknown'],
    ['UND_ERR_INVALID_ARG', 'unknown'],
  ])('names %s %s', (code, error) => {
    expect(httpFailure(Object.assign(new Error('told'), { code }))).toEqual({ error, detail: 'told' });
  });

  it.each([
    ['ENOTFOUND', 'the host name does not exist (ENOTFOUND)'],
    ['ENODATA', 'the host name has no address (ENODATA)'],
    ['ESERVFAIL', 'the name servers of the host name fail (ESERVFAIL)'],
    ['ETIMEOUT', 'no name server answered in time (ETIMEOUT)'],
    ['ECONNREFUSED', 'the name servers of the relay cannot be reached (ECONNREFUSED)'],
    ['EBADRESP', 'queryA EBADRESP e.example'],
  ])('names %s of a look-up dns', (code, detail) => {
    const fault = Object.assign(new Error(`queryA ${code} e.example`), { code, syscall: 'queryA' });
    expect(httpFailure(fault)).toEqual({ error: 'dns', detail });
  });

  it.each([
    ['connect', 'connect-timeout'],
    ['read', 'reset'],
    ['write', 'reset'],
  ])('names ETIMEDOUT of %s %s', (syscall, error) => {
    expect(httpFailure(Object.assign(new Error('told'), { code: 'ETIMEDOUT', syscall }))).toEqual({
      error,
      detail: 'told',
    });
  });

  it('tells of an error of OpenSSL its reason, not its line of source code', () => {
    const [code, reason] = ['ERR_SSL_BAD_EXTENSION', 'bad extension'];
    const fault = Object.assign(new Error(`40CD:error:0A:SSL routines:f:${reason}:../deps/a.c:9:`), { code, reason });
    expect(httpFailure(fault)).toEqual({ error: 'tls', detail: reason });
  });

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
    [
      Object.assign(
        new AggregateError(
          ['ECONNREFUSED', 'ENETUNREACH', 'ECONNREFUSED'].map((code) => Object.assign(new Error(), { code })),
        ),
        { code: 'ECONNREFUSED' },
      ),
      { error: 'refused', detail: 'no address of the host name could be connected to (ECONNREFUSED, ENETUNREACH)' },
    ],
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
