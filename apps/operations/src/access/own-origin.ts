import { ProblemError } from '@relay/problem';

/**
 * A browser repeats Basic credentials on its own, also for a form on a page of another site; it names the origin of
 * that page with every request that changes something (RFC 6454 section 7). Programs send no Origin.
 * @throws ProblemError when the request comes from another origin
 */
export function assertOwnOrigin(method: string, origin: string | undefined, host: string | undefined): void {
  if (origin === undefined || method === 'GET' || method === 'HEAD') return;
  if (URL.canParse(origin) && new URL(origin).host === host) return;
  throw new ProblemError('insufficient-scope', 'Changes are accepted from this site’s own pages only.');
}
