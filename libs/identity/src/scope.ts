export type ClientKind = 'partner' | 'source' | 'operator';

/** What a client of each kind may do. A client keeps the scopes it was created with; a token may narrow them. */
export const SCOPES_OF = {
  partner: ['webhooks', 'sessions'],
  source: ['deliveries:write'],
  operator: ['operations:read', 'operations:write', 'operations'],
} as const satisfies Record<ClientKind, readonly string[]>;

export type Scope = (typeof SCOPES_OF)[ClientKind][number];

/**
 * The scopes of a token request (RFC 6749 section 3.3): all of the client's when none is asked for, else exactly those asked,
 * in the client's order. Undefined when the text is not a scope or asks for one the client does not have.
 */
export function narrowScopes(granted: readonly string[], requested: string | undefined): readonly string[] | undefined {
  if (requested === undefined) return granted;
  if (!/^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/.test(requested)) return undefined;
  const asked = requested.split(' ');
  return asked.every((scope) => granted.includes(scope)) ? granted.filter((scope) => asked.includes(scope)) : undefined;
}
