import { ProblemError } from '@relay/problem';

/**
 * A browser repeats Basic credentials by itself, also for a form on somebody else's page; it names that page's origin with
 * every request that changes something (RFC 6454 section 7). Programs send no Origin.
 * @throws ProblemError when the request comes from another origin than ours
 */
export function assertOwnOrigin(method: string, origin: string | undefined, host: string | undefined): void {
  if (origin === undefined || method === 'GET' || method === 'HEAD') return;
  if (URL.canParse(origin) && new URL(origin).host === host) return;
  throw new ProblemError('insufficient-scope', 'Changes are taken from this site’s own pages only.');
}
