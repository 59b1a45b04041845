/** Id of a session of the console, as its cookie carries it. */
export interface SessionId {
  /** The operator. */
  readonly clientId: string;
  /** 32 random bytes as base64url. */
  readonly secret: string;
}

const NAME = 'relay_console';
/** Over HTTPS. Browsers let no other host, and no page without TLS, set a cookie of this name (RFC 6265bis section 4.1.3.2). */
const SECURE_NAME = `__Host-${NAME}`;
const ID = /^(operator_[\w-]{1,64})\.([\w-]{43})$/;
const RULES = 'Path=/; HttpOnly; SameSite=Strict';

export const formatSession = ({ clientId, secret }: SessionId): string => `${clientId}.${secret}`;

/** The session that a `Cookie` header names (RFC 6265 section 5.4), by the name that cannot be forged first; undefined when it names none that could be one. */
export function readSession(header: string | undefined): SessionId | undefined {
  const pairs = (header ?? '').split(';').map((pair) => pair.trim().split('=', 2));
  for (const wanted of [SECURE_NAME, NAME])
    for (const [name, value = ''] of pairs) {
      const [, clientId, secret] = (name === wanted ? ID.exec(value) : null) ?? [];
      if (clientId !== undefined && secret !== undefined) return { clientId, secret };
    }
  return undefined;
}

/** `Set-Cookie` for a session: no script reads it, no other site sends it. The browser forgets it when it ends. */
export const sessionCookie = (id: SessionId, isSecure: boolean): string =>
  isSecure ? `${SECURE_NAME}=${formatSession(id)}; ${RULES}; Secure` : `${NAME}=${formatSession(id)}; ${RULES}`;

/** `Set-Cookie` by which the browser forgets any session. */
export const noSession: readonly string[] = [
  `${SECURE_NAME}=; Max-Age=0; ${RULES}; Secure`,
  `${NAME}=; Max-Age=0; ${RULES}`,
];
