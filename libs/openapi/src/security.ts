import type { Route } from './routes.adapter.js';

/**
 * The security requirements of a route, by the names of its app's security schemes; several are alternatives, an empty
 * one means that none is needed.
 */
export function securityOf({ access, scopes, portal }: Route): Record<string, readonly string[]>[] {
  switch (access) {
    case 'public':
      return [];
    case 'client':
      return [{ client: [] }];
    case 'bearer':
      return [{ token: scopes }, ...(portal === undefined ? [] : [{ portal: [] }])];
    case 'listing':
      return [{ token: scopes }, {}];
    case 'source':
      return [{ token: scopes }, { sourceKey: [] }, { sourceJwt: [] }, { sourceBasic: [] }];
    case 'operator':
      return [{ token: scopes }, { operator: [] }];
    default:
      return access satisfies never;
  }
}
