import { formDecode, readBasic, readBearer, type AccessTokens, type Caller, type FailureLimiter } from '@relay/access';
import { narrowScopes, type ClientDirectory, type ClientRecord } from '@relay/identity';
import { ProblemError } from '@relay/problem';
import { assertRole } from './role.js';

/** Both schemes (RFC 9110 section 11.6.1); a browser asks for name and password because of the first. */
const CHALLENGE = 'Basic realm="relay operations", charset="UTF-8", Bearer realm="relay"';

/** The parts of a request that identify an operator. */
export interface OperatorRequest {
  readonly authorization: string | undefined;
  readonly address: string;
}

/**
 * Admits operators by client id and secret (Basic) or by an access token of theirs (Bearer). The client of a token must
 * still exist and be enabled.
 */
export class OperatorGuard {
  constructor(
    private readonly tokens: AccessTokens,
    private readonly directory: ClientDirectory,
    private readonly failures: FailureLimiter,
  ) {}

  /** @throws ProblemError `unauthorized`, `insufficient-scope`, `too-many-requests`, `unavailable` */
  async admit({ authorization, address }: OperatorRequest): Promise<Caller> {
    const token = readBearer(authorization);
    const client = token === undefined ? await this.#byBasic(authorization, address) : await this.#byToken(token);
    assertRole(client.scopes, 'viewer');
    return { clientId: client.clientId, scopes: client.scopes, audience: [] };
  }

  async #byToken(token: string): Promise<ClientRecord> {
    const verification = await this.tokens.verify(token);
    if (verification.kind !== 'valid') throw refused('The access token is not valid, or no longer valid.');
    const client = await this.directory.findByToken(verification.token);
    if (client === undefined) throw refused('The access token is not valid, or no longer valid.');
    return { ...client, scopes: [...(narrowScopes(client.scopes, verification.token.scopes.join(' ')) ?? [])] };
  }

  async #byBasic(authorization: string | undefined, address: string): Promise<ClientRecord> {
    const basic = readBasic(authorization);
    const clientId = formDecode(basic?.user ?? '');
    const secret = formDecode(basic?.password ?? '');
    if (basic === undefined || clientId === undefined || secret === undefined)
      throw refused('An operator’s client id and secret, or access token, is needed.');
    const client = await this.directory.findBySecret(clientId, secret);
    if (client !== undefined) return client;
    const waitS = await this.failures.fail(`${address} ${clientId.slice(0, 128)}`);
    if (waitS === undefined) throw refused('The client id or the secret is wrong.');
    throw new ProblemError('too-many-requests', 'Too many failed logins of this client.', {
      headers: { 'retry-after': String(waitS) },
    });
  }
}

const refused = (detail: string): ProblemError =>
  new ProblemError('unauthorized', detail, { headers: { 'www-authenticate': CHALLENGE } });
