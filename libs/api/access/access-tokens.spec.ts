import { createHmac } from 'node:crypto';
import { aSigningKeyText as aKeyText } from '@relay/testing';
import { SignJWT } from 'jose';
import type { Revoked } from './access-tokens.js';
import { AccessTokens, parseSigningKeys, type VerifiedToken } from './index.js';

const aSigningKey = (kid: string) => parseSigningKeys(aKeyText(kid))[0];
const START = 1_800_000_000_000;
const nothingRevoked: Revoked = { has: () => false, notBeforeS: () => 0 };
const settings = { issuer: 'https://relay.example', ttlMs: 3_600_000 };
let ids = 0;
const made = (
  keys = [aSigningKey('k1')],
  now = () => START,
  changes = {},
  revoked: Revoked = nothingRevoked,
): AccessTokens => {
  const [first = aSigningKey('k1'), ...rest] = keys;
  return new AccessTokens([first, ...rest], { ...settings, ...changes }, () => `id-${(ids += 1)}`, now, revoked);
};
const kindOf = async (tokens: AccessTokens, token: string): Promise<string> => (await tokens.verify(token)).kind;

describe('AccessTokens', () => {
  it('verifies its own tokens, with all scopes and with fewer', async () => {
    const tokens = made();
    const token = await tokens.issue('c-1', ['webhooks', 'sessions']);
    const startS = START / 1_000;
    const expected = {
      kind: 'valid',
      token: {
        clientId: 'c-1',
        scopes: ['webhooks', 'sessions'],
        jti: `id-${ids}`,
        generation: 0,
        issuedAtS: startS,
        expiresAtS: startS + 3_600,
      },
    };
    expect(await tokens.verify(token)).toEqual(expected);
    expect(await tokens.verify(token)).toEqual(expected);
  });

  it.each([
    ['at its end', 3_600_000, 'valid'],
    ['within 5 s of tolerance', 3_604_999, 'valid'],
    ['after them', 3_605_001, 'ended'],
  ])('ends a token %s, remembered or not', async (_name, after, kind) => {
    let now = START;
    const key = aSigningKey('k1');
    const [remembering, fresh] = [made([key], () => now), made([key], () => now)];
    const token = await remembering.issue('c-1', ['webhooks']);
    await remembering.verify(token);
    now += after;
    expect([await kindOf(remembering, token), await kindOf(fresh, token)]).toEqual([kind, kind]);
  });

  it('refuses a revoked token, remembered or not, and no other', async () => {
    const revokedIds = new Set<string>();
    const revoked: Revoked = { ...nothingRevoked, has: ({ jti }) => revokedIds.has(jti) };
    const key = aSigningKey('k1');
    const [remembering, fresh] = [made([key], undefined, {}, revoked), made([key], undefined, {}, revoked)];
    const [ended, other] = [await remembering.issue('c-1', ['webhooks']), await remembering.issue('c-1', ['webhooks'])];
    expect(await kindOf(remembering, ended)).toBe('valid');
    revokedIds.add(`id-${ids - 1}`);
    expect([await kindOf(remembering, ended), await kindOf(fresh, ended)]).toEqual(['ended', 'ended']);
    expect([await kindOf(remembering, other), await kindOf(fresh, other)]).toEqual(['valid', 'valid']);
  });

  it('dates a token no earlier than the tokens that ended together, and leaves its expiry unchanged', async () => {
    const startS = START / 1_000;
    const tokens = made(undefined, undefined, undefined, { ...nothingRevoked, notBeforeS: () => startS + 1 });
    const { token } = (await tokens.verify(await tokens.issue('c-1', ['webhooks'], 3))) as { token: VerifiedToken };
    expect(token).toMatchObject({ generation: 3, issuedAtS: startS + 1, expiresAtS: startS + 3_600 });
  });

  it('verifies by every key and signs by the first', async () => {
    const [old, next] = [aSigningKey('old'), aSigningKey('next')];
    const token = await made([old]).issue('c-1', ['webhooks']);
    expect(await kindOf(made([next, old]), token)).toBe('valid');
    expect(await kindOf(made([next]), token)).toBe('foreign');
  });

  it('forgets the oldest token over its limit and still verifies it', async () => {
    const tokens = made([aSigningKey('k1')], () => START, { remembered: 1 });
    const all = await Promise.all(['a', 'b', 'c'].map((id) => tokens.issue(id, ['webhooks'])));
    for (const token of [...all, ...all]) expect(await kindOf(tokens, token)).toBe('valid');
  });

  it.each([
    ['another issuer', { issuer: 'https://other.example' }],
    ['another type', { typ: 'JWT' }],
    ['another key of the same name', { isForged: true }],
    ['nothing wrong, to show that the rest is right', {}],
  ])('recognises %s', async (name, change: { issuer?: string; typ?: string; isForged?: boolean }) => {
    const { issuer = settings.issuer, typ = 'at+jwt', isForged = false } = change;
    const key = aSigningKey('k1');
    const token = await new SignJWT({ client_id: 'c', scope: 'webhooks', gen: 0 })
      .setProtectedHeader({ alg: 'ES256', typ, kid: 'k1' })
      .setIssuer(issuer)
      .setAudience(issuer)
      .setSubject('c')
      .setIssuedAt(START / 1_000)
      .setExpirationTime(START / 1_000 + 60)
      .setJti('j')
      .sign((isForged ? aSigningKey('k1') : key).privateKey);
    expect((await kindOf(made([key]), token)) === 'valid').toBe(name.startsWith('nothing'));
  });

  it.each(['none', 'HS256'])('refuses the algorithm %s, whatever the header says', async (alg) => {
    const key = aSigningKey('k1');
    const tokens = made([key]);
    const [, payload] = (await tokens.issue('c-1', ['webhooks'])).split('.');
    const header = Buffer.from(JSON.stringify({ alg, typ: 'at+jwt', kid: 'k1' })).toString('base64url');
    const pem = key.publicKey.export({ format: 'pem', type: 'spki' });
    const mac = createHmac('sha256', pem).update(`${header}.${payload}`).digest('base64url');
    expect(await kindOf(tokens, `${header}.${payload}.${alg === 'none' ? '' : mac}`)).toBe('invalid');
  });

  it.each(['', 'abc', 'a.b.c', '..', '../../etc/passwd'])('takes %j for none of ours', async (text) => {
    expect(await kindOf(made(), text)).toBe('foreign');
  });

  it('publishes no private part', () => {
    for (const key of made().jwks().keys)
      expect(Object.keys(key).toSorted()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
  });
});

describe('parseSigningKeys', () => {
  it.each([
    ['nothing', ''],
    ['no kid', aKeyText('k').slice(1)],
    ['no key', 'k:'],
    ['no Base64 of a key', 'k:AAAA'],
    ['another curve', aKeyText('k', 'P-384')],
    ['a kid twice', `${aKeyText('k')},${aKeyText('k')}`],
  ])('refuses %s without telling it', (_name, text) => {
    expect(() => parseSigningKeys(text)).toThrow(/^JWT_PRIVATE_KEYS: (entry 1 is not|a kid occurs twice)/);
  });
});
