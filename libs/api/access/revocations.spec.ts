import fc from 'fast-check';
import { Revocations, type SingleRevocation } from './revoked-tokens.adapter.js';

const LIMIT = 5;
const aToken = (jti: string, issuedAtS: number, clientId = 'c'): SingleRevocation => ({
  kind: 'single',
  clientId,
  jti,
  issuedAtS,
  endsAtS: issuedAtS + 3_600,
});

/** One process and the log: place → what stands there. */
class Relay {
  readonly known = new Revocations(LIMIT);
  readonly log = new Map<string, Parameters<Revocations['add']>[0]>();
  #places = 0;

  revoke(token: SingleRevocation): void {
    const { revocation, replaced } = this.known.plan(token);
    for (const place of replaced) this.log.delete(place);
    const entry = { revocation, place: String((this.#places += 1)) };
    this.log.set(entry.place, entry);
    this.known.add(entry);
  }

  /** A process that starts now. */
  started(): Revocations {
    const fresh = new Revocations(LIMIT);
    for (const entry of this.log.values()) fresh.add(entry);
    return fresh;
  }
}

describe('the revocations of a client', () => {
  it('stay within their limit, here and in the log, and lose no revoked token', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(30), { maxLength: 60 }), (issued) => {
        const relay = new Relay();
        const tokens = issued.map((issuedAtS, index) => aToken(String(index), issuedAtS));
        for (const token of tokens) relay.revoke(token);
        expect(relay.known.size).toBeLessThanOrEqual(LIMIT + 1);
        expect(relay.log.size).toBeLessThanOrEqual(LIMIT + 1);
        for (const known of [relay.known, relay.started()])
          expect(tokens.filter((token) => !known.has(token))).toEqual([]);
      }),
    );
  });

  it('end no token that was issued after all of them, and none of another client', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(30), { minLength: 1, maxLength: 60 }), (issued) => {
        const relay = new Relay();
        for (const [index, issuedAtS] of issued.entries()) relay.revoke(aToken(String(index), issuedAtS));
        const newest = Math.max(...issued);
        expect(relay.known.has(aToken('later', newest + 1))).toBe(false);
        expect(relay.known.has(aToken('0', newest, 'd'))).toBe(false);
        expect(relay.known.notBeforeS('c')).toBeLessThanOrEqual(newest + 1);
      }),
    );
  });

  it('are forgotten once the last token they ended has ended by itself, and a minute more', () => {
    const relay = new Relay();
    for (let index = 0; index <= LIMIT; index += 1) relay.revoke(aToken(String(index), index));
    relay.revoke(aToken('single', 100));
    const sizes = [0, 3_665, 3_666, 3_761].map((nowS) => {
      relay.known.forget(nowS);
      return relay.known.size;
    });
    expect(sizes).toEqual([2, 2, 1, 0]);
  });
});
