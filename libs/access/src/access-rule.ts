import type { Scope } from '@relay/identity';

/**
 * Who may call a route: anyone; a client by its id and secret (Basic); whoever has an access token with all these scopes; the same,
 * or perhaps nobody with a token; a source by a token or by its fixed credential. Headers tell in each case.
 */
export type AccessRule =
  | { readonly kind: 'public' }
  | { readonly kind: 'client' }
  | { readonly kind: 'bearer'; readonly scopes: readonly Scope[] }
  | { readonly kind: 'listing'; readonly scopes: readonly Scope[] }
  | { readonly kind: 'source' };
