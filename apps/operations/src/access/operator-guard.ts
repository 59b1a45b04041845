import { formDecode, readBasic, readBearer, type AccessTokens, type Caller, type FailureLimiter } from '@relay/access';
import type { ClientDirectory, ProvenClient } from '@relay/identity';
import { ProblemError } from '@relay/problem';
import type { ConsoleSessions } from './console-sessions.adapter.js';
import { assertRole } from './role.js';
import { readSession, type SessionId } from './session-cookie.js';

/** Both schemes (RFC 9110 section 11.6.1); a browser asks for name and password because of the first. */
const CHALLENGE = 'Basic realm="relay operations", charset="UTF-8", Bearer realm="relay"';
/** For the console, which asks itself. */
const QUIET_CHALLENGE = 'Bearer realm="relay"';

/** The parts of a request that identify an operator. */
export interface OperatorRequest {
  readonly authorization: string | undefined;
  readonly address: string;
  readonly cookie: string | undefined;
  /** `relay-console`: the console sends it, `acting` while somebody acts; it never speaks for Basic credentials that the browser remembers. */
  readonly console: string | undefined;
  /** `relay-console-operator`: who the page says is signed in. Another tab of the browser may have signed in somebody else. */
  readonly shown: string | undefined;
}

/** An operator, and how it was proved. */
export interface Admitted {
  readonly caller: Caller;
  readonly by: 'session' | 'credential';
}

/**
 * Admits operators by the session of a browser, by client id and secret (Basic) or by an access token of theirs (Bearer). The
 * client of a session or token must still exist and be enabled, and its secret be valid. A session has the present role of its
 * operator; a token has of its scopes those that the present role has.
 */
export class OperatorGuard {
  constructor(
    private readonly tokens: AccessTokens,
    private readonly directory: ClientDirectory,
    private readonly failures: FailureLimiter,
    private readonly sessions: ConsoleSessions,
  ) {}

  /** @throws ProblemError `unauthorized`, `insufficient-scope`, `too-many-requests`, `unavailable` */
  async admit({ authorization, address, cookie, console, shown }: OperatorRequest): Promise<Admitted> {
    const session = readSession(cookie);
    if (session !== undefined) assertShown(session, shown);
    const inSession = session === undefined ? undefined : await this.#bySession(session, console === 'acting');
    if (inSession !== undefined) return { caller: callerOf(inSession), by: 'session' };
    if (console !== undefined) throw refused('You are not signed in, or no longer.', QUIET_CHALLENGE);
    const token = readBearer(authorization);
    const client = token === undefined ? await this.#byBasic(authorization, address) : await this.#byToken(token);
    return { caller: callerOf(client), by: 'credential' };
  }

  /**
   * Opens a session for an operator.
   * @throws ProblemError `unauthorized`, `insufficient-scope`, `too-many-requests`, `unavailable`
   */
  async enter(clientId: string, secret: string, address: string): Promise<{ caller: Caller; id: SessionId }> {
    const client = await this.#bySecret(clientId, secret, address, QUIET_CHALLENGE);
    const caller = callerOf(client);
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
 * A page acts as the operator whom it names; the page of the board names none.
 * @throws ProblemError `unauthorized` when the session of the browser is another operator's
 */
export function assertShown({ clientId }: SessionId, shown: string | undefined): void {
  if (shown !== undefined && shown !== clientId)
    throw refused('Another operator has signed in in this browser since.', QUIET_CHALLENGE);
}

/** @throws ProblemError `insufficient-scope` unless it is an operator */
function callerOf({ clientId, scopes, provenGeneration: generation }: ProvenClient): Caller {
  assertRole(scopes, 'viewer');
  return { clientId, scopes, audience: [], generation };
}

const refused = (detail: string, challenge = CHALLENGE): ProblemError =>
  new ProblemError('unauthorized', detail, { headers: { 'www-authenticate': challenge } });
