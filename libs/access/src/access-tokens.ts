import { hash as digest } from 'node:crypto';
import { decodeProtectedHeader, errors, jwtVerify, SignJWT, type JWK } from 'jose';
import { z } from 'zod';
import { BoundedMemory } from '@relay/identity';
import type { SigningKey } from './signing-keys.js';

// Fixed: what a token's own header says of its algorithm decides nothing (RFC 8725 section 3.1).
const ALGORITHM = 'ES256';
const TYPE = 'at+jwt';
const TOLERANCE_S = 5;

const Claims = z.object({
  client_id: z.string(),
  scope: z.string(),
  exp: z.number(),
  iat: z.number(),
  jti: z.string(),
});

/** Which tokens were revoked before their end; asked at every check, so it must not wait for anything. */
export interface Revoked {
  has(jti: string): boolean;
}

export interface TokenSettings {
  /** Issuer and audience: the relay accepts only tokens made for itself. */
  readonly issuer: string;
  readonly ttlMs: number;
  /** How many verified tokens are remembered until they expire. */
  readonly remembered?: number;
}

export interface VerifiedToken {
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly jti: string;
  /** Epoch seconds. */
  readonly issuedAtS: number;
  readonly expiresAtS: number;
}

/**
 * `ended`: we issued it, but it is over or was revoked. `invalid`: it names a key of ours that did not sign it for this use.
 * `foreign`: not one of ours by its header, so it may still be somebody's fixed JWT.
 */
export type Verification =
  { kind: 'valid'; token: VerifiedToken } | { kind: 'ended' } | { kind: 'invalid' } | { kind: 'foreign' };

/**
 * Access tokens by RFC 9068. A verified one is remembered by its SHA-256 until it expires: checking an ES256 signature costs
 * a quarter of a millisecond, and sources send the same token with every envelope.
 */
export class AccessTokens {
  readonly #remembered: BoundedMemory<VerifiedToken>;

  constructor(
    private readonly keys: readonly [SigningKey, ...SigningKey[]],
    private readonly settings: TokenSettings,
    private readonly id: () => string,
    private readonly now: () => number,
    private readonly revoked: Revoked,
  ) {
    this.#remembered = new BoundedMemory(settings.remembered ?? 10_000);
  }

  /** Lifetime of a token, in whole seconds. */
  get expiresInS(): number {
    return Math.floor(this.settings.ttlMs / 1_000);
  }

  issue(clientId: string, scopes: readonly string[]): Promise<string> {
    const { kid, privateKey } = this.keys[0];
    const issuedAtS = Math.floor(this.now() / 1_000);
    return new SignJWT({ client_id: clientId, scope: scopes.join(' ') })
      .setProtectedHeader({ alg: ALGORITHM, typ: TYPE, kid })
      .setIssuer(this.settings.issuer)
      .setAudience(this.settings.issuer)
      .setSubject(clientId)
      .setIssuedAt(issuedAtS)
      .setExpirationTime(issuedAtS + this.expiresInS)
      .setJti(this.id())
      .sign(privateKey);
  }

  async verify(token: string): Promise<Verification> {
    const verification = await this.#verifySigned(token);
    const isRevoked = verification.kind === 'valid' && this.revoked.has(verification.token.jti);
    return isRevoked ? { kind: 'ended' } : verification;
  }

  async #verifySigned(token: string): Promise<Verification> {
    const hash = digest('sha256', token, 'base64url');
    const known = this.#remembered.get(hash);
    if (known !== undefined && this.now() < (known.expiresAtS + TOLERANCE_S) * 1_000)
      return { kind: 'valid', token: known };
    const key = this.#keyOf(token);
    if (key === undefined) return { kind: 'foreign' };
    try {
      const { payload } = await jwtVerify(token, key.publicKey, {
        algorithms: [ALGORITHM],
        typ: TYPE,
        issuer: this.settings.issuer,
        audience: this.settings.issuer,
        clockTolerance: TOLERANCE_S,
        currentDate: new Date(this.now()),
        requiredClaims: ['sub'],
      });
      const { client_id: clientId, scope, jti, iat: issuedAtS, exp: expiresAtS } = Claims.parse(payload);
      const verified = { clientId, scopes: scope.split(' '), jti, issuedAtS, expiresAtS };
      this.#remembered.set(hash, verified);
      return { kind: 'valid', token: verified };
    } catch (error) {
      // Told only of what has the right signature, issuer and audience.
      return { kind: error instanceof errors.JWTExpired ? 'ended' : 'invalid' };
    }
  }

  /** The public keys as a JWK Set (RFC 7517). */
  jwks(): { keys: JWK[] } {
    return {
      keys: this.keys.map(({ kid, publicKey }) => ({
        ...(publicKey.export({ format: 'jwk' }) as JWK),
        kid,
        use: 'sig',
        alg: ALGORITHM,
      })),
    };
  }

  #keyOf(token: string): SigningKey | undefined {
    try {
      const { typ, kid } = decodeProtectedHeader(token);
      return typ?.toLowerCase() === TYPE ? this.keys.find((key) => key.kid === kid) : undefined;
    } catch {
      return undefined;
    }
  }
}
