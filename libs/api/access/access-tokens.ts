import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { type ClientDirectory, hasRole, type OperatorRole, TextMemory } from '@relay/identity';
import { decodeProtectedHeader, errors, type JWK, jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';

interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/**
 * Parses `JWT_PRIVATE_KEYS`: a list of `kid:base64 of PKCS #8 DER` with commas between, all EC P-256 keys. The first key
 * signs, and every key verifies. A new key can therefore be published before it signs, and an old key can stay in the list
 * until its last token has expired.
 * @throws Error that names the faulty entry by its position, never by its value
 */
export function parseSigningKeys(text: string): readonly [SigningKey, ...SigningKey[]] {
  const keys = text.split(',').map((entry, index) => {
    const colon = entry.indexOf(':');
    const kid = entry.slice(0, Math.max(colon, 0)).trim();
    const privateKey = readKey(Buffer.from(entry.slice(colon + 1), 'base64'));
    if (!/^[\w-]{1,64}$/.test(kid) || privateKey?.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
      throw new Error(`JWT_PRIVATE_KEYS: entry ${index + 1} is not kid:base64 of a PKCS #8 EC P-256 key`);
    return { kid, privateKey, publicKey: createPublicKey(privateKey) };
  });
  const [first, ...rest] = keys;
  if (first === undefined || new Set(keys.map((key) => key.kid)).size !== keys.length)
    throw new Error('JWT_PRIVATE_KEYS: a kid occurs twice');
  return [first, ...rest];
}

function readKey(der: Buffer): KeyObject | undefined {
  try {
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  } catch {
    return undefined;
  }
}

// The algorithm is fixed, because the header of a token must not choose it (RFC 8725 section 3.1).
const ALGORITHM = 'ES256';
const TYPE = 'at+jwt';
const TOLERANCE_S = 5;

/** Rights of the holder of a portal token. `write` includes `read`. */
export const PortalAccess = z.enum(['read', 'write']);
export type PortalAccess = z.infer<typeof PortalAccess>;

export const PortalGrant = z.object({
  access: PortalAccess,
  /** The only webhooks that the holder sees; undefined means all webhooks of the partner. */
  webhookIds: z.array(z.string()).optional(),
  /**
   * The operator who made the link, with the generation of the operator's secret; undefined if the partner made the link.
   */
  operator: z.object({ clientId: z.string(), generation: z.int() }).optional(),
});
export type PortalGrant = z.infer<typeof PortalGrant>;

const Claims = z.object({
  client_id: z.string(),
  scope: z.string(),
  exp: z.number(),
  iat: z.number(),
  jti: z.string(),
  /** Generation of the client secret for which the token was issued. */
  gen: z.int(),
  /** Set only on a portal token, which gives no other rights. */
  portal: PortalGrant.optional(),
});

/**
 * Returns the id under which revocations of a token are stored. The portal tokens of a partner have an id of their own, so
 * that many revocations of portal tokens never end the tokens of the partner's own programs.
 */
export const holderOf = ({ clientId, portal }: Pick<VerifiedToken, 'clientId' | 'portal'>): string =>
  portal === undefined ? clientId : `portal:${clientId}`;

/**
 * The tokens that were revoked before their expiry. The methods are synchronous, because every check of a token calls them.
 */
export interface Revoked {
  has(token: Pick<VerifiedToken, 'clientId' | 'jti' | 'issuedAtS'>): boolean;
  /** Returns a time in epoch seconds. Every token that was issued to the client before that time is revoked. */
  notBeforeS(clientId: string): number;
}

interface TokenSettings {
  /** Issuer and audience of every token. The relay accepts only tokens that it has issued for itself. */
  readonly issuer: string;
  readonly ttlMs: number;
  /** Maximum number of verified tokens that are cached. */
  readonly remembered?: number;
}

export const VerifiedToken = z.object({
  clientId: z.string(),
  scopes: z.array(z.string()).readonly(),
  jti: z.string(),
  /** Generation of the client secret for which the token was issued. */
  generation: z.int(),
  /** Epoch seconds. */
  issuedAtS: z.number(),
  expiresAtS: z.number(),
  /** Set only on a portal token, which has no scope. */
  portal: PortalGrant.optional(),
});
export type VerifiedToken = z.infer<typeof VerifiedToken>;

/**
 * `ended`: the relay issued the token, which has expired or was revoked. `invalid`: the header names a key of the relay, but
 * the token does not verify. `foreign`: the header names no key of the relay, so the token may be the fixed JWT of a source.
 */
type Verification =
  | { kind: 'valid'; token: VerifiedToken }
  | { kind: 'ended' }
  | { kind: 'invalid' }
  | { kind: 'foreign' };

/**
 * Issues and verifies access tokens (RFC 9068). A verified token is cached by its text until it expires, because verifying
 * an ES256 signature takes a quarter of a millisecond, and a source sends the same token with every envelope.
 */
export class AccessTokens {
  readonly #remembered: TextMemory<VerifiedToken>;

  constructor(
    private readonly keys: readonly [SigningKey, ...SigningKey[]],
    private readonly settings: TokenSettings,
    private readonly id: () => string,
    private readonly now: () => number,
    private readonly revoked: Revoked,
  ) {
    this.#remembered = new TextMemory(settings.remembered ?? 10_000);
  }

  get expiresInS(): number {
    return Math.floor(this.settings.ttlMs / 1_000);
  }

  /** @param generation generation of the client secret with which the client authenticated */
  issue(clientId: string, scopes: readonly string[], generation = 0): Promise<string> {
    return this.sign({ ...this.#dated(clientId, this.expiresInS), clientId, scopes, generation });
  }

  /**
   * Returns the facts of a new token without a scope for the holder of a portal link.
   * @param ttlS lifetime in seconds, at most `expiresInS`
   */
  portalToken(clientId: string, portal: PortalGrant, generation: number, ttlS: number): VerifiedToken {
    return { ...this.#dated(holderOf({ clientId, portal }), ttlS), clientId, scopes: [], generation, portal };
  }

  #dated(holder: string, ttlS: number): Pick<VerifiedToken, 'jti' | 'issuedAtS' | 'expiresAtS'> {
    const nowS = Math.floor(this.now() / 1_000);
    // A revocation of all tokens covers whole seconds. A token that is issued within the last covered second is dated to the
    // next second, so that the revocation does not end it.
    const issuedAtS = Math.max(nowS, this.revoked.notBeforeS(holder));
    return { jti: this.id(), issuedAtS, expiresAtS: nowS + ttlS };
  }

  /** Returns the text of a token. Every text of one token ends at the same time, and by one revocation. */
  sign({ clientId, scopes, jti, generation, issuedAtS, expiresAtS, portal }: VerifiedToken): Promise<string> {
    const { kid, privateKey } = this.keys[0];
    return new SignJWT({ client_id: clientId, scope: scopes.join(' '), gen: generation, portal })
      .setProtectedHeader({ alg: ALGORITHM, typ: TYPE, kid })
      .setIssuer(this.settings.issuer)
      .setAudience(this.settings.issuer)
      .setSubject(clientId)
      .setIssuedAt(issuedAtS)
      .setExpirationTime(expiresAtS)
      .setJti(jti)
      .sign(privateKey);
  }

  /** Returns a token that was verified before and is still valid; undefined if only `verify` can decide. */
  known(token: string): VerifiedToken | undefined {
    const known = this.#unexpired(token);
    return known === undefined || this.isRevoked(known) ? undefined : known;
  }

  async verify(token: string): Promise<Verification> {
    const known = this.#unexpired(token);
    const verification =
      known === undefined ? await this.#verifySigned(token) : ({ kind: 'valid', token: known } as const);
    const isRevoked = verification.kind === 'valid' && this.isRevoked(verification.token);
    return isRevoked ? { kind: 'ended' } : verification;
  }

  isRevoked(token: VerifiedToken): boolean {
    return this.revoked.has({ ...token, clientId: holderOf(token) });
  }

  #unexpired(token: string): VerifiedToken | undefined {
    const known = this.#remembered.get(token);
    return known !== undefined && this.now() < (known.expiresAtS + TOLERANCE_S) * 1_000 ? known : undefined;
  }

  async #verifySigned(token: string): Promise<Verification> {
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
      const { client_id: clientId, scope, jti, gen: generation, portal, ...claims } = Claims.parse(payload);
      const times = { issuedAtS: claims.iat, expiresAtS: claims.exp };
      const verified = { clientId, scopes: scope.split(' '), jti, generation, ...times, portal };
      this.#remembered.set(token, verified);
      return { kind: 'valid', token: verified };
    } catch (error) {
      // `jose` throws JWTExpired only if the signature, the issuer and the audience are right.
      return { kind: error instanceof errors.JWTExpired ? 'ended' : 'invalid' };
    }
  }

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

/** Access that a route requires of a portal token. `register` means `write` without a restriction to some webhooks. */
export type PortalRule = PortalAccess | 'register';

/** Whether a route with this rule accepts a portal token with this grant. A route without a rule accepts no portal token. */
export function admits(rule: PortalRule | undefined, { access, webhookIds }: PortalGrant): boolean {
  if (rule === undefined) return false;
  return rule === 'read' || (access === 'write' && (rule === 'write' || webhookIds === undefined));
}

/**
 * Returns the role that an operator needs to make a link with this access, because the holder of the link acts as the
 * partner.
 */
export const roleToGrant = (access: PortalAccess): OperatorRole => (access === 'write' ? 'admin' : 'operator');

/**
 * Whether a grant is still valid. If an operator made the link, the operator's secret must still be valid, and the operator
 * must still have the role that is needed. A person is no client and keeps the role of the sign-in, so nothing but its own
 * lifetime ends the link of a person.
 */
export async function isStillGranted(
  { access, operator }: PortalGrant,
  directory: Pick<ClientDirectory, 'findByToken'>,
): Promise<boolean> {
  if (operator === undefined || operator.clientId.startsWith('person:')) return true;
  return hasRole((await directory.findByToken(operator))?.scopes ?? [], roleToGrant(access));
}
