import { jwsFault } from './clients.js';

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const signature = (bytes: number): string => Buffer.alloc(bytes, 7).toString('base64url');
const jws = (header: unknown, bytes = 32): string => `${encode(header)}.${encode({ sub: 'x' })}.${signature(bytes)}`;

describe('a fixed JWT', () => {
  it.each(['HS256', 'ES256', 'RS512'])('may be signed by %s', (alg) => {
    expect(jwsFault(jws({ alg, typ: 'JWT' }))).toBeUndefined();
  });

  it.each([
    ['a', /three parts/],
    ['', /three parts/],
    ['a.b', /three parts/],
    [`${jws({ alg: 'HS256' })}.x`, /three parts/],
    [`${jws({ alg: 'HS256' })}=`, /three parts/],
    [` ${jws({ alg: 'HS256' })}`, /three parts/],
    [`aaa.bbb.${signature(32)}`, /first part/],
    [jws({ typ: 'JWT' }), /first part/],
    [jws({ alg: 5 }), /first part/],
    [jws(['HS256']), /first part/],
    [jws({ alg: 'none' }), /not signed/],
    [jws({ alg: 'nOnE' }), /not signed/],
    [jws({ alg: 'HS256' }, 0), /has 0 bytes/],
    [jws({ alg: 'HS256' }, 31), /has 31 bytes/],
    [jws({ alg: 'HS256', kid: 'k'.repeat(4_096) }), /longer than 4096/],
  ])('is not %s', (text, why) => {
    expect(jwsFault(text)).toMatch(why);
  });
});
