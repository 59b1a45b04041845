import { type AccessTokens, type Caller, type FailureLimiter, formDecode, readBasic, readBearer } from '@relay/access';
import { callerIdOf, callerOf, type FastifyRequest } from '@relay/http';
import { type ClientDirectory, hasRole, type OperatorRole, type ProvenClient, scopeOfRole } from '@relay/identity';
import { ProblemError } from '@relay/problem';
import { type ConsoleSessions, readSession, type SessionId } from './console-sessions.adapter.js';

/** Challenge with both schemes (RFC 9110 section 11.6.1). Because of `Basic`, a browser asks for a name and a password. */
const CHALLENGE = 'Basic realm="relay operations", charset="UTF-8", Bearer realm="relay"';
/** Challenge for the console. It omits `Basic`, because the console itself asks for name and password. */
const QUIET_CHALLENGE = 'Bearer realm="relay"';

/** An operator with a new session. */
interface Entered {
  readonly caller: Caller;
  readonly id: SessionId;
}

/**
 * Admits operators by a browser session, by client id and secret (Basic), or by an access token (Bearer). For a session or a
 * token, the client must still be enabled and its secret still valid. A session has the current role of its operator. A
 * token has only those of its scopes that the current role has too.
 */
export class OperatorGuard {
  constructor(
    private readonly tokens: AccessTokens,
    private readonly directory: ClientDirectory,
    private readonly failures: FailureLimiter,
    private readonly sessions: ConsoleSessions,
  ) {}

  /**
   * Makes the operator the caller of the request. A request of the console is never admitted by Basic credentials, because
   * the browser remembers them and sends them by itself.
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
  async enter(clientId: string, secret: string, address: string): Promise<Entered> {
    return this.#open(await this.prove(clientId, secret, address));
  }

  /**
   * Opens a session for the operator who made a link.
   * @throws ProblemError `not-found` if the code is unknown, used or expired, or the secret of the operator has ended
   */
  async follow(code: string): Promise<Entered> {
    const link = await this.sessions.links.take(code);
    const client = link && (await this.directory.findByToken(link));
    if (link === undefined || client === undefined)
      throw new ProblemError('not-found', 'The link was opened before, or it is too old: ask for a new one.');
    return this.#open({ ...client, provenGeneration: link.generation });
  }

  /** Returns the client with this secret. @throws ProblemError as `enter` */
  async prove(clientId: string, secret: string, address: string): Promise<ProvenClient> {
    const client = await this.#bySecret(clientId, secret, address, QUIET_CHALLENGE);
    operatorOf(client);
    return client;
  }

  async #open(client: ProvenClient): Promise<Entered> {
    const { clientId, provenGeneration: generation } = client;
    return { caller: operatorOf(client), id: await this.sessions.open({ clientId, generation }) };
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
 * Refuses a request if its page shows another operator than the session of the browser, because another tab has signed in
 * since. The page of the board names no operator, so its requests pass.
 * @throws ProblemError `unauthorized` if the session of the browser belongs to another operator
 */
export function assertShown({ clientId }: SessionId, { headers }: FastifyRequest): void {
  const shown = headers['relay-console-operator']?.toString();
  if (shown !== undefined && shown !== clientId)
    throw refused('Another operator has signed in in this browser since.', QUIET_CHALLENGE);
}

/** @throws ProblemError `insufficient-scope` if the client is not an operator */
function operatorOf({ clientId, scopes, provenGeneration: generation }: ProvenClient): Caller {
  assertRole(scopes, 'viewer');
  return { clientId, scopes, audience: [], generation };
}

const refused = (detail: string, challenge = CHALLENGE): ProblemError =>
  new ProblemError('unauthorized', detail, { headers: { 'www-authenticate': challenge } });

/** Whether a request with this method changes something. */
export const isChange = (method: string): boolean => method !== 'GET' && method !== 'HEAD';

const isOwn = ({ headers: { origin, host } }: FastifyRequest): boolean =>
  origin !== undefined && URL.canParse(origin) && new URL(origin).host === host;
const foreign = (): ProblemError =>
  new ProblemError('insufficient-scope', 'Changes are accepted from this site’s own pages only.');

/**
 * Whether the browser says that the request comes from another origin. The browser also compares schemes. `isOwn` cannot do
 * so behind a proxy that ends TLS.
 */
const isElsewhere = ({ headers }: FastifyRequest): boolean =>
  ['cross-site', 'same-site'].includes(headers['sec-fetch-site']?.toString() ?? '');

/**
 * Refuses changes from a page of another origin. Browsers send remembered Basic credentials by themselves, even with a form
 * of another site, but they name the origin of the page with every change (RFC 6454 section 7). Programs that are not
 * browsers send no Origin.
 * @throws ProblemError if the request comes from another origin
 */
export function assertOwnOrigin(request: FastifyRequest): void {
  if (request.headers.origin === undefined || !isChange(request.method)) return;
  if (isElsewhere(request) || !isOwn(request)) throw foreign();
}

/**
 * Refuses requests that a page of another origin makes with an operator's session. Other origins of the same site are
 * refused too, because the browser sends the cookie with requests from their pages. A change must name this origin as its
 * own. In addition, it must have the header `relay-console`, which no form can send, or the method PUT, which no form can
 * use. The queue board (`/board`) changes things by PUT, without the header.
 * @throws ProblemError if a page of another origin may have made the request
 */
export function assertOwnPage(request: FastifyRequest): void {
  if (isElsewhere(request)) throw foreign();
  if (!isChange(request.method)) return;
  const isMarked = 'relay-console' in request.headers;
  if (!isOwn(request) || !(isMarked || request.method === 'PUT')) throw foreign();
}

/** @throws ProblemError if these scopes do not give the role or a higher role */
export function assertRole(scopes: readonly string[], needed: OperatorRole): void {
  if (hasRole(scopes, needed)) return;
  const scope = scopeOfRole(needed);
  const detail = hasRole(scopes, 'viewer') ? `This needs the role ${needed}.` : 'Only operators have access.';
  throw new ProblemError('insufficient-scope', detail, {
    headers: { 'www-authenticate': `Bearer realm="relay", error="insufficient_scope", scope="${scope}"` },
  });
}

/** @param canWrite the setting OPERATIONS_WRITE @throws ProblemError if nothing may be changed */
export function assertWritable(canWrite: boolean | undefined): void {
  if (canWrite === false)
    throw new ProblemError('insufficient-scope', 'Nothing may be changed here: OPERATIONS_WRITE is false.');
}

/**
 * Whether the caller may read envelopes. Only then may the caller read answers of endpoints, which can repeat an envelope.
 */
export const mayReadEnvelopes = (request: FastifyRequest): boolean => hasRole(callerOf(request).scopes, 'operator');

/** The operator and the id of the request, in the form of `relay.operations`. */
export interface Actor {
  readonly operator: string;
  readonly requestId: string;
}

export const actorOf = (request: FastifyRequest): Actor => ({
  operator: callerIdOf(request),
  requestId: request.id,
});
