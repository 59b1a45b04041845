/** Id of a session of the console, as its cookie carries it. */
export interface SessionId {
  /** The operator. */
  readonly clientId: string;
  /** 32 random bytes as base64url. */
  readonly secret: string;
}

const NAME = 'relay_console';
const ID = /^(operator_[\w-]{1,64})\.([\w-]{43})$/;

export const formatSession = ({ clientId, secret }: SessionId): string => `${clientId}.${secret}`;

/** The session that a `Cookie` header names (RFC 6265 section 5.4); undefined when it names none that could be one. */
export function readSession(header: string | undefined): SessionId | undefined {
  for (const pair of (header ?? '').split(';')) {
    const [name, value = ''] = pair.trim().split('=', 2);
    const [, clientId, secret] = (name === NAME ? ID.exec(value) : null) ?? [];
    if (clientId !== undefined && secret !== undefined) return { clientId, secret };
  }
  return undefined;
}

/**
 * `Set-Cookie` for a session: no script reads it, no other site sends it. The browser forgets it when it ends.
 * @param id undefined: the browser forgets it now
 */
export function sessionCookie(id: SessionId | undefined, isSecure: boolean): string {
  const rules = `Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`;
  return id === undefined ? `${NAME}=; Max-Age=0; ${rules}` : `${NAME}=${formatSession(id)}; ${rules}`;
}
