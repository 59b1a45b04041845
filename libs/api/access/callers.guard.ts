import { ClientDirectory, SCOPES_OF } from '@relay/identity';
import type { ClientRecord, CredentialType, OperatorRole, Scope } from '@relay/identity';
import { ProblemError } from '@relay/problem';
import { AccessTokens, admits, isStillGranted } from './access-tokens.js';
import type { PortalGrant, PortalRule, VerifiedToken } from './access-tokens.js';

/** Counts unknown credentials by the network of their sender. */
export abstract class Guesses {
  /** Whether this process knows that the network is beyond its limit. Reads memory only. */
  abstract isHeldBack(address: string): boolean;

  /** Counts an unknown credential. Returns the answer for a network beyond its limit. */
  abstract miss(address: string): Promise<ProblemError | undefined>;
}

const unauthorized = (detail: string, challenge: string): ProblemError =>
  new ProblemError('unauthorized', detail, { headers: { 'www-authenticate': challenge } });

/** The problem of a request without a credential, which has no error code by RFC 6750 section 3.1. */
const missingCredential = (): ProblemError =>
  unauthorized(
    'The request has no credential: send Authorization: Bearer with a token of POST /auth/token.',
    'Bearer realm="relay"',
  );

const invalidToken = (): ProblemError =>
  unauthorized(
    'The access token is not valid, or no longer valid: get another by POST /auth/token.',
    'Bearer realm="relay", error="invalid_token"',
  );

const invalidCredential = (scheme: 'Bearer' | 'Basic'): ProblemError =>
  unauthorized(
    scheme === 'Basic'
      ? 'No source has this user and password: a client id and secret are for POST /auth/token, whose token goes here as Authorization: Bearer.'
      : 'No source has this X-API-Key.',
    `${scheme} realm="relay"`,
  );

/** Names the kind of client whose token has the scope, because callers mistake a source's token for a partner's. */
const holderOfScope = ([scope]: readonly string[]): string => {
  const [kind] =
    Object.entries(SCOPES_OF).find(([, held]) => (held as readonly (string | undefined)[]).includes(scope)) ?? [];
  return kind === undefined ? '' : `, which the token of a ${kind} has`;
};

/** The problem of a valid token that lacks a scope (RFC 6750 section 3.1). */
const insufficientScope = (scopes: readonly string[]): ProblemError =>
  new ProblemError('insufficient-scope', `The scope ${scopes.join(' ')} is needed${holderOfScope(scopes)}.`, {
    headers: { 'www-authenticate': `Bearer realm="relay", error="insufficient_scope", scope="${scopes.join(' ')}"` },
  });

/** Returns user and password of a Basic header (RFC 7617), split at the first colon; undefined for any other header. */
export function readBasic(header: string | undefined): { user: string; password: string } | undefined {
  const encoded = credentialsOf(header, 'basic');
  if (encoded === undefined || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(encoded)) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? undefined : { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

/** Returns the token of a Bearer header (RFC 6750 section 2.1); undefined if there is none. */
export function readBearer(header: string | undefined): string | undefined {
  const token = credentialsOf(header, 'bearer');
  return token === undefined || /[^\x21-\x7e]/.test(token) ? undefined : token;
}

// RFC 9110 section 11.1: the scheme is compared without regard to case.
function credentialsOf(header: string | undefined, scheme: string): string | undefined {
  if (header?.charAt(scheme.length) !== ' ' || header.slice(0, scheme.length).toLowerCase() !== scheme)
    return undefined;
  const credentials = header.slice(scheme.length).trim();
  return credentials === '' ? undefined : credentials;
}

/**
 * Decodes a client id or secret as OAuth libraries send it; undefined if it is malformed. RFC 6749 section 2.3.1 form-encodes
 * both before Basic; some libraries encode even `_` and `-`, and many clients encode nothing. The relay's ids and secrets contain
 * no `%`, so decoding is safe.
 */
export function formDecode(text: string): string | undefined {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

/** The authenticated caller, which the guards set as `request.caller`. */
export interface Caller {
  readonly clientId: string;
  readonly scopes: readonly string[];
  /** Partners to which a source is bound; empty if it is bound to none. */
  readonly audience: readonly string[];
  /** Event types that a source may send, see `typeRefusal`; without them every type. */
  readonly types?: readonly string[] | undefined;
  /**
   * Generation of the secret with which the caller has authenticated. A portal link is valid only as long as the secret of
   * its maker. A fixed credential has no generation.
   */
  readonly generation?: number;
  /** Set if the caller holds a portal token. */
  readonly portal?: PortalGrant;
  /** Email address or user name, possibly empty, if the caller is a person who signed in at an identity provider. */
  readonly person?: string;
}

/**
 * The callers that a route admits, by the headers of the request. `public`: anyone. `client`: a client with its id and secret
 * (Basic). `bearer`: a client with an access token of all these scopes. `listing`: as `bearer`, or a caller without a token.
 * `source`: a source with a token or its fixed credential. `operator`: an operator of at least this role, with its id and secret
 * or a token.
 */
export type AccessRule =
  | { readonly kind: 'public' }
  | { readonly kind: 'client' }
  | { readonly kind: 'bearer'; readonly scopes: readonly Scope[] }
  | { readonly kind: 'listing'; readonly scopes: readonly Scope[] }
  | { readonly kind: 'source' }
  | { readonly kind: 'operator'; readonly role: OperatorRole };

/** The head of a request in any HTTP framework: guards decide before the body is read. */
export interface GuardedRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly ip: string;
}

/** Admits a caller with an access token of every required scope whose client is not disabled. */
export class BearerGuard {
  constructor(
    private readonly tokens: AccessTokens,
    private readonly directory: ClientDirectory,
    private readonly guesses: Guesses,
  ) {}

  /**
   * @param portal access that a portal token must permit; without it the route accepts no portal token
   * @throws ProblemError `unauthorized`, `insufficient-scope`, `too-many-requests`, `unavailable`
   */
  async callerOf(request: GuardedRequest, needed: readonly string[], portal?: PortalRule): Promise<Caller> {
    const token = readBearer(headerOf(request, 'authorization'));
    if (token === undefined) throw missingCredential();
    const verification = await this.tokens.verify(token);
    if (verification.kind === 'valid') return callerOf(verification.token, needed, this.directory, portal);
    if (verification.kind === 'ended') throw invalidToken();
    throw (await this.guesses.miss(request.ip)) ?? invalidToken();
  }
}

/**
 * Returns the caller with a verified token.
 * @throws ProblemError if the client is unknown or disabled, the secret behind the token has ended, the operator behind a portal
 * token has lost its role, or a scope is missing
 */
export async function callerOf(
  token: VerifiedToken,
  needed: readonly string[],
  directory: ClientDirectory,
  portal?: PortalRule,
): Promise<Caller> {
  const client = await clientBehind(token, directory);
  if (client === undefined) throw invalidToken();
  if (token.portal !== undefined) {
    // A portal token never exceeds its partner's own scopes.
    const isHeld = needed.every((scope) => (client.scopes as readonly string[]).includes(scope));
    if (!isHeld || !admits(portal, token.portal)) throw insufficientScope(needed);
    return { clientId: client.clientId, scopes: [], audience: [], portal: token.portal };
  }
  const caller = callerWith(token, client);
  if (!needed.every((scope) => caller.scopes.includes(scope))) throw insufficientScope(needed);
  return caller;
}

/** Returns the client of a token, if the token still counts. For a portal link of an operator, the operator must be valid too. */
export async function clientBehind(
  token: VerifiedToken,
  directory: ClientDirectory,
): Promise<ClientRecord | undefined> {
  const client = await directory.findByToken(token);
  return token.portal === undefined || (await isStillGranted(token.portal, directory)) ? client : undefined;
}

/** Returns the caller with the token's scopes that the client still has: it may have lost some after the token was issued. */
const callerWith = (token: VerifiedToken, client: ClientRecord): Caller => ({
  clientId: client.clientId,
  scopes: token.scopes.filter((scope) => client.scopes.includes(scope)),
  audience: client.audience,
  types: client.types,
  generation: token.generation,
});

/** Returns the value of a header; the first value if the header is repeated. */
export function headerOf(request: Pick<GuardedRequest, 'headers'>, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : value?.[0];
}

const SCOPE = 'deliveries:write';

/**
 * Admits sources by an access token with `deliveries:write`, or by one of the credentials that the specification gives to
 * endpoints (`X-API-Key`, a fixed JWT as Bearer, Basic), so that one relay can be another's endpoint. The right credential always
 * passes, so other senders in its network never lock a source out.
 */
export class SourceGuard {
  constructor(
    private readonly tokens: AccessTokens,
    private readonly directory: ClientDirectory,
    private readonly guesses: Guesses,
  ) {}

  /**
   * Returns no promise if token and client are in memory: a source sends the same token with every envelope, and a promise costs
   * more than the look-up in memory.
   * @throws ProblemError `unauthorized`, `insufficient-scope`, `too-many-requests`, `unavailable`; as a rejection
   */
  callerOf(request: GuardedRequest): Promise<Caller> | Caller {
    return this.#knownCallerOf(request) ?? this.#provenCallerOf(request);
  }

  #knownCallerOf(request: GuardedRequest): Caller | undefined {
    if (headerOf(request, 'x-api-key') !== undefined) return undefined;
    const text = readBearer(headerOf(request, 'authorization'));
    const token = text === undefined ? undefined : this.tokens.known(text);
    const client = token === undefined ? undefined : this.directory.knownByToken(token);
    const caller = token === undefined || client === undefined ? undefined : callerWith(token, client);
    return caller?.scopes.includes(SCOPE) === true ? caller : undefined;
  }

  async #provenCallerOf(request: GuardedRequest): Promise<Caller> {
    const apiKey = headerOf(request, 'x-api-key');
    if (apiKey !== undefined) return this.#byCredential('apiKey', apiKey, request.ip);
    const authorization = headerOf(request, 'authorization');
    const basic = readBasic(authorization);
    if (basic !== undefined) return this.#byCredential('basic', `${basic.user}:${basic.password}`, request.ip);
    const token = readBearer(authorization);
    if (token === undefined) throw missingCredential();
    const verification = await this.tokens.verify(token);
    if (verification.kind === 'valid') return callerOf(verification.token, [SCOPE], this.directory);
    if (verification.kind === 'foreign') return this.#byCredential('jwt', token, request.ip);
    if (verification.kind === 'ended') throw invalidToken();
    throw (await this.guesses.miss(request.ip)) ?? invalidToken();
  }

  async #byCredential(type: CredentialType, credential: string, address: string): Promise<Caller> {
    const client = await this.#find(type, credential, address);
    if (client !== undefined) {
      const { clientId, scopes, audience, types } = client;
      return { clientId, scopes, audience, types };
    }
    const refusal = type === 'jwt' ? invalidToken() : invalidCredential(type === 'basic' ? 'Basic' : 'Bearer');
    throw (await this.guesses.miss(address)) ?? refusal;
  }

  /** Finds the source. After too many guesses of a network, the list of all credentials answers, which spares the store. */
  #find(type: CredentialType, credential: string, address: string): Promise<ClientRecord | undefined> {
    return this.guesses.isHeldBack(address)
      ? this.directory.findListedCredential(type, credential)
      : this.directory.findByCredential(type, credential);
  }
}
