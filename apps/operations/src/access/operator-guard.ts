import { type AccessTokens, type Caller, type FailureLimiter, formDecode, readBasic, readBearer } from '@relay/access';
import { callerIdOf, callerOf, type FastifyRequest } from '@relay/http';
import { type ClientDirectory, hasRole, type OperatorRole, type ProvenClient, scopeOfRole } from '@relay/identity';
import { ProblemError } from '@relay/problem';
import { type ConsoleSessions, readSession, type SessionId } from './console-sessions.adapter.js';

/** Challenge with both schemes (RFC 9110 section 11.6.1). Because of `Basic` a browser asks for name and password. */
const CHALLENGE = 'Basic realm="relay operations", charset="UTF-8", Bearer realm="relay"';
/** Challenge for the console, which asks for name and password itself. */
const QUIET_CHALLENGE = 'Bearer realm="relay"';

/**
 * Admits operators by a browser session, by client id and secret (Basic), or by an access token (Bearer). The client of a session
 * or token must be enabled, and its secret valid. A session has the present role of its operator. A token has only the scopes
 * that the present role has too.
 */
export class OperatorGuard {
  constructor(
    private readonly tokens: AccessTokens,
    private readonly directory: ClientDirectory,
    private readonly failures: FailureLimiter,
    private readonly sessions: ConsoleSessions,
  ) {}

  /**
   * Makes the operator the caller of the request. A request of the console is never admitted by Basic credentials, which the
   * browser remembers.
   * @throws ProblemError `unauthorized`, `insufficient-scope`, `too-many-requests`, `unavailable`
   */
  async admit(request: FastifyRequest): Promise<Caller> {
    const { authorization, cookie } = request.headers;
    const console = request.headers['relay-console']?.toString();
    const session = readSession(cookie);
    if (session !== undefined) assertShown(session, request);
    const inSession = session === undefined ? undefined : await this.#bySession(session, console === 'acting');
    if (inSession !== undefined) {
      request.caller = operatorOf(inSession);
      assertOwnPage(request);
      return request.caller;
    }
    if (console !== undefined) throw refused('You are not signed in, or no longer.', QUIET_CHALLENGE);
    const token = readBearer(authorization);
    const client = token === undefined ? await this.#byBasic(authorization, request.ip) : await this.#byToken(token);
    request.caller = operatorOf(client);
    return request.caller;
  }

  /**
   * Opens a session for an operator.
   * @throws ProblemError `unauthorized`, `insufficient-scope`, `too-many-requests`, `unavailable`
   */
  async enter(clientId: string, secret: string, address: string): Promise<{ caller: Caller; id: SessionId }> {
    const client = await this.#bySecret(clientId, secret, address, QUIET_CHALLENGE);
    const caller = operatorOf(client);
    return { caller, id: await this.sessions.open({ clientId, generation: client.provenGeneration }) };
  }

  async #bySession(id: SessionId, isActing: boolean): Promise<ProvenClient | undefined> {
    const session = await this.sessions.find(id, isActing);
    if (session === undefined) return undefined;
    const client = await this.directory.findByToken(session);
    return client && { ...client, provenGeneration: session.generation };
  }

  async #byToken(token: string): Promise<ProvenClient> {
    const verification = await this.tokens.verify(token);
    if (verification.kind !== 'valid') throw refused('The access token is not valid, or no longer valid.');
    const client = await this.directory.findByToken(verification.token);
    if (client === undefined) throw refused('The access token is not valid, or no longer valid.');
    const scopes = client.scopes.filter((scope) => verification.token.scopes.includes(scope));
    return { ...client, scopes, provenGeneration: verification.token.generation };
  }

  async #byBasic(authorization: string | undefined, address: string): Promise<ProvenClient> {
    const basic = readBasic(authorization);
    const clientId = formDecode(basic?.user ?? '');
    const secret = formDecode(basic?.password ?? '');
    if (basic === undefined || clientId === undefined || secret === undefined)
      throw refused('An operator’s client id and secret, or access token, is needed.');
    return this.#bySecret(clientId, secret, address, CHALLENGE);
  }

  async #bySecret(clientId: string, secret: string, address: string, challenge: string) {
    const client = await this.directory.findBySecret(clientId, secret);
    if (client !== undefined) return client;
    const waitS = await this.failures.fail(`${address} ${clientId.slice(0, 128)}`);
    if (waitS === undefined) throw refused('The client id or the secret is wrong.', challenge);
    throw new ProblemError('too-many-requests', 'Too many failed logins of this client.', {
      headers: { 'retry-after': String(waitS) },
    });
  }
}

/**
 * Refuses a page that shows another operator than the browser's session, because another tab has signed in since. The page of
 * the board names no operator.
 * @throws ProblemError `unauthorized` if the session of the browser is another operator's
 */
export function assertShown({ clientId }: SessionId, { headers }: FastifyRequest): void {
  const shown = headers['relay-console-operator']?.toString();
  if (shown !== undefined && shown !== clientId)
    throw refused('Another operator has signed in in this browser since.', QUIET_CHALLENGE);
}

/** @throws ProblemError `insufficient-scope` unless the client is an operator */
function operatorOf({ clientId, scopes, provenGeneration: generation }: ProvenClient): Caller {
  assertRole(scopes, 'viewer');
  return { clientId, scopes, audience: [], generation };
}

const refused = (detail: string, challenge = CHALLENGE): ProblemError =>
  new ProblemError('unauthorized', detail, { headers: { 'www-authenticate': challenge } });

/** Whether a request by this method changes something. */
export const isChange = (method: string): boolean => method !== 'GET' && method !== 'HEAD';

const isOwn = ({ headers: { origin, host } }: FastifyRequest): boolean =>
  origin !== undefined && URL.canParse(origin) && new URL(origin).host === host;
const foreign = (): ProblemError =>
  new ProblemError('insufficient-scope', 'Changes are accepted from this site’s own pages only.');

/** Whether the browser reports another site. It compares schemes too, which a proxy that ends TLS hides from `isOwn`. */
const isElsewhere = ({ headers }: FastifyRequest): boolean =>
  ['cross-site', 'same-site'].includes(headers['sec-fetch-site']?.toString() ?? '');

/**
 * Refuses changes from a page of another origin. A browser repeats Basic credentials on its own, even for a form of another
 * site, and names the origin of the page with every change (RFC 6454 section 7). Programs send no Origin.
 * @throws ProblemError if the request comes from another origin
 */
export function assertOwnOrigin(request: FastifyRequest): void {
  if (request.headers.origin === undefined || !isChange(request.method)) return;
  if (isElsewhere(request) || !isOwn(request)) throw foreign();
}

/**
 * Refuses requests by a session from pages of other origins, even of the same site, which gets the cookie. A change must name its
 * origin, and have a header that no form can send, or a method that no form has, as the board's changes.
 * @throws ProblemError if a page of another origin may have made the request
 */
export function assertOwnPage(request: FastifyRequest): void {
  if (isElsewhere(request)) throw foreign();
  if (!isChange(request.method)) return;
  const isMarked = 'relay-console' in request.headers;
  if (!isOwn(request) || !(isMarked || request.method === 'PUT')) throw foreign();
}

/** @throws ProblemError unless these scopes give the role, or a higher one */
export function assertRole(scopes: readonly string[], needed: OperatorRole): void {
  if (hasRole(scopes, needed)) return;
  const scope = scopeOfRole(needed);
  const detail = hasRole(scopes, 'viewer') ? `This needs the role ${needed}.` : 'Only operators have access.';
  throw new ProblemError('insufficient-scope', detail, {
    headers: { 'www-authenticate': `Bearer realm="relay", error="insufficient_scope", scope="${scope}"` },
  });
}

/** @param canWrite OPERATIONS_WRITE @throws ProblemError if nothing may be changed */
export function assertWritable(canWrite: boolean | undefined): void {
  if (canWrite === false)
    throw new ProblemError('insufficient-scope', 'Nothing may be changed here: OPERATIONS_WRITE is false.');
}

/** Whether the caller may read envelopes, and therefore answers of endpoints, which may repeat an envelope. */
export const mayReadEnvelopes = (request: FastifyRequest): boolean => hasRole(callerOf(request).scopes, 'operator');

/** The operator and the request, in the form of `relay.operations`. */
export interface Actor {
  readonly operator: string;
  readonly requestId: string;
}

export const actorOf = (request: FastifyRequest): Actor => ({
  operator: callerIdOf(request),
  requestId: request.id,
});
