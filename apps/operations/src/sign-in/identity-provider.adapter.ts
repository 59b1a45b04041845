import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { OPERATOR_ROLES, type OperatorRole } from '@relay/identity';
import type { OperationsConfig } from '@relay/settings';
import { decodeProtectedHeader } from 'jose';
import * as oauth from 'oauth4webapi';

/** Time in ms to read the metadata, and as long again for token and keys: the browser has an answer within 9 s. */
const ANSWER_MS = 4_000;
/** Times in ms for which metadata of the provider, or the fault of reading it, is kept. */
const KEPT_MS = 10_000;
const FAULT_KEPT_MS = 1_000;
/** Seconds by which the clocks of the relay and of the provider may differ. */
const TOLERANCE_S = 30;

/** The complete settings of a provider. */
export interface ProviderSettings {
  readonly issuer: string;
  /** Name of the provider on pages. */
  readonly name: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: string;
  readonly roleClaim: string;
  /** Values of the claim by the role that they give. */
  readonly roles: Readonly<Record<OperatorRole, readonly string[]>>;
  /** Address of the console, without a slash at its end. */
  readonly consoleUrl: string;
}

/** Returns the settings of the provider; undefined if the configuration names none. */
export function providerSettingsOf(config: OperationsConfig): ProviderSettings | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret, CONSOLE_URL } = config;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined || CONSOLE_URL === undefined)
    return undefined;
  return {
    issuer,
    name: config.OIDC_NAME ?? new URL(issuer).host,
    clientId,
    clientSecret,
    scopes: config.OIDC_SCOPES,
    roleClaim: config.OIDC_ROLE_CLAIM,
    roles: { viewer: config.OIDC_VIEWERS, operator: config.OIDC_OPERATORS, admin: config.OIDC_ADMINS },
    consoleUrl: CONSOLE_URL,
  };
}

/** Returns a number for the settings that identify people and give them roles. With other settings, their sessions end. */
export const generationOf = ({ issuer, clientId, roleClaim, roles }: ProviderSettings): number =>
  crc32(JSON.stringify([issuer, clientId, roleClaim, roles.viewer, roles.operator, roles.admin]));

/** The secrets of one sign-in, which bind the answer of the provider to the browser that began it. */
export interface Proof {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** A person whom the provider has identified. */
export interface Identified {
  /** Subject of the ID token. */
  readonly subject: string;
  /** Email address or user name; empty if the ID token has neither. */
  readonly name: string;
  /** Undefined if no value of the claim gives a role. */
  readonly role: OperatorRole | undefined;
}

/** The answer of the provider is not what the relay accepts. The message is a reason for the log. */
export class UnacceptableToken extends Error {
  override readonly name = 'UnacceptableToken';
}

/** The answer does not belong to the sign-in of this browser: it has another `state` or `iss` (RFC 9207). */
export class ForeignAnswer extends Error {
  override readonly name = 'ForeignAnswer';
}

/** The identity provider, as OpenID Connect Core 1.0 and Discovery 1.0 describe it. */
export class IdentityProvider {
  #metadata: Promise<oauth.AuthorizationServer> | undefined;
  /** Epoch milliseconds from which on the metadata is read again. */
  #staleAt = 0;

  constructor(readonly settings: ProviderSettings) {}

  /** Reads the metadata of the provider. Rejects if the provider does not answer, or has another issuer. */
  metadata(): Promise<oauth.AuthorizationServer> {
    if (this.#metadata === undefined || Date.now() >= this.#staleAt) {
      this.#staleAt = Date.now() + KEPT_MS;
      this.#metadata = this.#discover();
      this.#metadata.catch(() => (this.#staleAt = Date.now() + FAULT_KEPT_MS));
    }
    return this.#metadata;
  }

  /** Returns the address at which a person signs in, and the proof of this sign-in. Rejects as `metadata`. */
  async begin(): Promise<{ readonly url: string; readonly proof: Proof }> {
    const { authorization_endpoint: endpoint } = await this.metadata();
    const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()];
    const verifier = oauth.generateRandomCodeVerifier();
    const url = this.#addressOf(endpoint, {
      client_id: this.settings.clientId,
      redirect_uri: this.#redirectUri,
      response_type: 'code',
      scope: this.settings.scopes,
      state,
      nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    return { url, proof: { state, nonce, verifier } };
  }

  /**
   * Exchanges the code in the provider's answer for an ID token and checks the token. The keys of the provider are read for
   * each token, so that a rotation takes effect at once.
   * @param answer query of the callback
   * @throws ForeignAnswer, UnacceptableToken, and the errors of oauth4webapi and of `fetch`
   */
  async complete(answer: URLSearchParams, { state, nonce, verifier }: Proof): Promise<Identified> {
    const server = await this.metadata();
    const options = this.#options();
    const client = { client_id: this.settings.clientId, [oauth.clockTolerance]: TOLERANCE_S };
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      this.#authentication(server),
      codeIn(answer, server, client, state),
      this.#redirectUri,
      verifier,
      options,
    );
    const expected = { expectedNonce: nonce, requireIdToken: true };
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, expected);
    // oauth4webapi keeps keys by this object, so that a new one has none.
    await oauth.validateApplicationLevelSignature({ ...server }, response, options);
    const claims = oauth.getValidatedIdTokenClaims(tokens);
    if (claims === undefined) throw new UnacceptableToken('there is no ID token');
    if (claims.azp !== undefined && claims.azp !== client.client_id)
      throw new UnacceptableToken('azp is another client');
    if (claims['at_hash'] !== undefined && claims['at_hash'] !== hashOf(tokens))
      throw new UnacceptableToken('at_hash is that of another access token');
    if (!/^[\x21-\x7e]{1,255}$/.test(claims.sub)) throw new UnacceptableToken('sub is not printable ASCII');
    return { subject: claims.sub, name: nameIn(claims), role: this.#roleIn(claims) };
  }

  /** Returns the address that ends the session at the provider; undefined if the provider has none. Rejects as `metadata`. */
  async signOutUrl(): Promise<string | undefined> {
    const { end_session_endpoint: endpoint } = await this.metadata();
    const { clientId, consoleUrl } = this.settings;
    const back = { client_id: clientId, post_logout_redirect_uri: `${consoleUrl}/` };
    return endpoint === undefined ? undefined : this.#addressOf(endpoint, back);
  }

  get #redirectUri(): string {
    return `${this.settings.consoleUrl}/sign-in/callback`;
  }

  async #discover(): Promise<oauth.AuthorizationServer> {
    const issuer = new URL(this.settings.issuer);
    return oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, this.#options()));
  }

  /** The settings accept http for this machine only. */
  get #isLocal(): boolean {
    return this.settings.issuer.startsWith('http:');
  }

  #options() {
    return { signal: AbortSignal.timeout(ANSWER_MS), [oauth.allowInsecureRequests]: this.#isLocal };
  }

  #addressOf(endpoint: string | undefined, parameters: Readonly<Record<string, string>>): string {
    const url = URL.parse(endpoint ?? '');
    if (url === null || !(url.protocol === 'https:' || (this.#isLocal && url.protocol === 'http:')))
      throw new UnacceptableToken('an endpoint in the metadata is no https address');
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    return url.href;
  }

  /** RFC 8414 section 2: a server that names no methods takes Basic. */
  #authentication({ token_endpoint_auth_methods_supported: methods }: oauth.AuthorizationServer): oauth.ClientAuth {
    const isBasic = methods?.includes('client_secret_basic') ?? true;
    return (isBasic ? oauth.ClientSecretBasic : oauth.ClientSecretPost)(this.settings.clientSecret);
  }

  #roleIn(claims: oauth.IDToken): OperatorRole | undefined {
    const { roleClaim, roles } = this.settings;
    const values = [claimAt(claims, roleClaim)].flat();
    return OPERATOR_ROLES.findLast((role) => roles[role].some((value) => values.includes(value)));
  }
}

/** Returns the answer with the code in it, if the answer belongs to this sign-in. */
function codeIn(answer: URLSearchParams, server: oauth.AuthorizationServer, client: oauth.Client, state: string) {
  try {
    return oauth.validateAuthResponse(server, client, answer, state);
  } catch (error) {
    if (error instanceof oauth.AuthorizationResponseError) throw error;
    throw new ForeignAnswer(error instanceof Error ? error.message : 'the answer cannot be read', { cause: error });
  }
}

/** OpenID Connect Core 1.0 section 3.1.3.6: the left half of the hash that the algorithm of the ID token has. */
function hashOf({ access_token: token, id_token: idToken = '' }: oauth.TokenEndpointResponse): string {
  const bits = /(?:256|384|512)$/.exec(decodeProtectedHeader(idToken).alg ?? '')?.[0] ?? '512';
  const hash = createHash(`sha${bits}`).update(token).digest();
  return hash.subarray(0, hash.length / 2).toString('base64url');
}

/** Returns the claim of this name, or the value to which the dots in the name lead. */
function claimAt(claims: oauth.IDToken, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  return name.split('.').reduce<unknown>((value, part) => (Object(value) as Record<string, unknown>)[part], claims);
}

/** An address that the provider has not verified may be that of another person. */
function nameIn({ email, email_verified: isVerified, preferred_username: userName }: oauth.IDToken): string {
  const names = [isVerified === false ? undefined : email, userName];
  const name = names.find((each) => typeof each === 'string' && each.trim() !== '');
  return typeof name === 'string' ? name.replaceAll(/\p{C}/gu, '').trim().slice(0, 200) : '';
}
