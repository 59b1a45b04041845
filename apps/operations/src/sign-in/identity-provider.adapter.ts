import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { OPERATOR_ROLES, type OperatorRole } from '@relay/identity';
import type { OperationsConfig } from '@relay/settings';
import { decodeProtectedHeader } from 'jose';
import * as oauth from 'oauth4webapi';

/** Time in ms to read the metadata, and as long again for token and keys: the browser has an answer within 9 s. */
const ANSWER_MS = 4_000;
/** Time in ms for which the metadata is kept. It bounds the requests that strangers can cause at the provider. */
const KEPT_MS = 1_000;
/** Seconds by which the clocks of the relay and of the provider may differ. */
const TOLERANCE_S = 30;

type Needed = 'CONSOLE_URL' | 'OIDC_CLIENT_ID' | 'OIDC_CLIENT_SECRET' | 'OIDC_ISSUER';
/** The settings of an app at which people sign in. They name a provider completely, or no provider. */
type ProviderConfig = OperationsConfig & Readonly<Record<Needed, string>>;
export const hasProvider = (config: OperationsConfig): config is ProviderConfig => config.OIDC_ISSUER !== undefined;

/** The secrets of one sign-in, which bind the answer of the provider to the browser that began it. */
type Proof = Readonly<Record<'state' | 'nonce' | 'verifier', string>>;

/** A person whom the provider has identified. */
export interface Identified {
  /** Subject of the ID token. */
  readonly subject: string;
  /** Email address or user name; empty if the ID token has neither. */
  readonly name: string;
  /** Undefined if no value of the claim gives a role. */
  readonly role: OperatorRole | undefined;
}

/** The answer does not belong to the sign-in of this browser: it has another `state`, or another `iss` (RFC 9207). */
export class ForeignAnswer extends Error {
  override readonly name = 'ForeignAnswer';
}

/** The identity provider (OpenID Connect Core 1.0 and Discovery 1.0). Each method rejects if it does not answer. */
export class IdentityProvider {
  /** Name of the provider on pages. */
  readonly name: string;
  /** A number for the settings that identify people and give them roles. The sessions of other settings have ended. */
  readonly generation: number;
  readonly #roles: Readonly<Record<OperatorRole, readonly string[]>>;
  #metadata: Promise<oauth.AuthorizationServer> | undefined;
  /** Epoch milliseconds from which on the metadata is read again. */
  #staleAt = 0;

  constructor(private readonly config: ProviderConfig) {
    const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_ROLE_CLAIM: claim } = config;
    this.name = config.OIDC_NAME ?? new URL(issuer).host;
    this.#roles = { viewer: config.OIDC_VIEWERS, operator: config.OIDC_OPERATORS, admin: config.OIDC_ADMINS };
    this.generation = crc32(JSON.stringify([issuer, clientId, claim, this.#roles]));
  }

  /** Address of the console, without a slash at its end. */
  get consoleUrl(): string {
    return this.config.CONSOLE_URL;
  }

  metadata(): Promise<oauth.AuthorizationServer> {
    if (this.#metadata === undefined || Date.now() >= this.#staleAt) {
      this.#staleAt = Date.now() + KEPT_MS;
      this.#metadata = this.#discover();
      this.#metadata.catch(() => (this.#staleAt = 0));
    }
    return this.#metadata;
  }

  /** Returns the address at which a person signs in, and the proof of this sign-in. */
  async begin(): Promise<{ readonly url: string; readonly proof: Proof }> {
    const { authorization_endpoint: endpoint } = await this.metadata();
    const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()];
    const verifier = oauth.generateRandomCodeVerifier();
    const url = this.#addressOf(endpoint, {
      client_id: this.config.OIDC_CLIENT_ID,
      redirect_uri: this.#redirectUri,
      response_type: 'code',
      scope: this.config.OIDC_SCOPES,
      state,
      nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    return { url, proof: { state, nonce, verifier } };
  }

  /**
   * Exchanges the code of the provider's answer for an ID token, and checks the token. The keys of the provider are read for
   * each token, so that a rotation takes effect at once.
   * @param answer query of the callback
   * @throws ForeignAnswer, and the errors of oauth4webapi and of `fetch`
   */
  async complete(answer: URLSearchParams, { state, nonce, verifier }: Proof): Promise<Identified> {
    const server = await this.metadata();
    const [client, options] = [
      { client_id: this.config.OIDC_CLIENT_ID, [oauth.clockTolerance]: TOLERANCE_S },
      this.#options(),
    ];
    const code = codeIn(answer, server, client, state);
    const login = this.#authentication(server);
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      login,
      code,
      this.#redirectUri,
      verifier,
      options,
    );
    const expected = { expectedNonce: nonce, requireIdToken: true };
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, expected);
    // oauth4webapi keeps keys by this object, so that a new one has none.
    await oauth.validateApplicationLevelSignature({ ...server }, response, options);
    const claims = oauth.getValidatedIdTokenClaims(tokens) as oauth.IDToken;
    const isOurs = claims.azp === undefined || claims.azp === client.client_id;
    const isOfToken = claims['at_hash'] === undefined || claims['at_hash'] === hashOf(tokens);
    if (!isOurs || !isOfToken) throw new Error(`${isOurs ? 'at_hash' : 'azp'} of the ID token is not as expected`);
    if (!/^[\x21-\x7e]{1,255}$/.test(claims.sub)) throw new Error('sub of the ID token is not printable ASCII');
    return { subject: claims.sub, name: nameIn(claims), role: this.#roleIn(claims) };
  }

  /** Returns the address that ends the session at the provider; undefined if the provider has none. */
  async signOutUrl(): Promise<string | undefined> {
    const { end_session_endpoint: endpoint } = await this.metadata();
    const back = { client_id: this.config.OIDC_CLIENT_ID, post_logout_redirect_uri: `${this.consoleUrl}/` };
    return endpoint === undefined ? undefined : this.#addressOf(endpoint, back);
  }

  get #redirectUri(): string {
    return `${this.consoleUrl}/sign-in/callback`;
  }

  async #discover(): Promise<oauth.AuthorizationServer> {
    const issuer = new URL(this.config.OIDC_ISSUER);
    return oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, this.#options()));
  }

  /** The settings accept http for this machine only. */
  get #isLocal(): boolean {
    return this.config.OIDC_ISSUER.startsWith('http:');
  }

  #options() {
    return { signal: AbortSignal.timeout(ANSWER_MS), [oauth.allowInsecureRequests]: this.#isLocal };
  }

  #addressOf(endpoint: string | undefined, parameters: Readonly<Record<string, string>>): string {
    const url = new URL(endpoint ?? '');
    if (url.protocol !== 'https:' && !(this.#isLocal && url.protocol === 'http:'))
      throw new Error('an endpoint in the metadata is no https address');
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return url.href;
  }

  /** RFC 8414 section 2: a server that names no methods takes Basic. */
  #authentication({ token_endpoint_auth_methods_supported: methods }: oauth.AuthorizationServer): oauth.ClientAuth {
    const isBasic = methods?.includes('client_secret_basic') ?? true;
    return (isBasic ? oauth.ClientSecretBasic : oauth.ClientSecretPost)(this.config.OIDC_CLIENT_SECRET);
  }

  #roleIn(claims: oauth.IDToken): OperatorRole | undefined {
    const values = new Set([claimAt(claims, this.config.OIDC_ROLE_CLAIM)].flat());
    return OPERATOR_ROLES.findLast((role) => this.#roles[role].some((value) => values.has(value)));
  }
}

/** Returns the answer with the code in it, if the answer belongs to this sign-in. */
function codeIn(answer: URLSearchParams, server: oauth.AuthorizationServer, client: oauth.Client, state: string) {
  try {
    return oauth.validateAuthResponse(server, client, answer, state);
  } catch (error) {
    if (error instanceof oauth.AuthorizationResponseError) throw error;
    throw new ForeignAnswer('the answer is not that of this sign-in', { cause: error });
  }
}

/** OpenID Connect Core 1.0 section 3.1.3.6: the left half of the hash that the algorithm of the ID token has. */
function hashOf({ access_token: token, id_token: idToken = '' }: oauth.TokenEndpointResponse): string {
  const bits = /(?:256|384|512)$/.exec(decodeProtectedHeader(idToken).alg ?? '')?.[0] ?? '512';
  const hash = createHash(`sha${bits}`).update(token).digest();
  return hash.subarray(0, hash.length / 2).toString('base64url');
}

/** Returns the claim of this name, or the value to which the dots in the name lead. */
const claimAt = (claims: oauth.IDToken, name: string): unknown =>
  claims[name] ?? name.split('.').reduce<unknown>((value, part) => Object(value)[part] as unknown, claims);

/** An email address that the provider has not verified may be that of another person. */
function nameIn({ email, email_verified: isVerified, preferred_username: userName }: oauth.IDToken): string {
  const name = isVerified === false ? userName : (email ?? userName);
  return typeof name === 'string' ? name.replaceAll(/\p{C}/gu, '').trim().slice(0, 200) : '';
}
