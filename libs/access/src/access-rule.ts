import type { OperatorRole, Scope } from '@relay/identity';

/**
 * The callers that a route admits: anyone; a client with its id and secret (Basic); a client with an access token of all these
 * scopes; the same or a caller without a token; a source with a token or its fixed credential; an operator of at least this role, with its id and secret or a token. The headers of the
 * request decide.
 */
export type AccessRule =
  | { readonly kind: 'public' }
  | { readonly kind: 'client' }
  | { readonly kind: 'bearer'; readonly scopes: readonly Scope[] }
  | { readonly kind: 'listing'; readonly scopes: readonly Scope[] }
  | { readonly kind: 'source' }
  | { readonly kind: 'operator'; readonly role: OperatorRole };
