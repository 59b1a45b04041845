import type { FastifyRequest } from '@relay/http';
import { ProblemError } from '@relay/problem';

/** Where a request was made, by its headers. */
interface Made {
  readonly method: string;
  readonly origin: string | undefined;
  readonly host: string | undefined;
  /** `Sec-Fetch-Site`. */
  readonly site: string | undefined;
  /** Whether it has the header of the console. */
  readonly isMarked: boolean;
}

export function madeAt({ method, headers }: FastifyRequest): Made {
  const { origin, host } = headers;
  return { method, origin, host, site: headers['sec-fetch-site']?.toString(), isMarked: 'relay-console' in headers };
}

/** The operator whom a page of the console shows as signed in. */
export const shownIn = ({ headers }: FastifyRequest): string | undefined =>
  headers['relay-console-operator']?.toString();

const changes = (method: string): boolean => method !== 'GET' && method !== 'HEAD';
const isOwn = ({ origin, host }: Made): boolean =>
  origin !== undefined && URL.canParse(origin) && new URL(origin).host === host;
const foreign = (): ProblemError =>
  new ProblemError('insufficient-scope', 'Changes are accepted from this site’s own pages only.');

/** What the browser says of the page, its scheme included, which a proxy that ends TLS hides from the comparison of hosts. */
const isElsewhere = ({ site }: Made): boolean => site === 'cross-site' || site === 'same-site';

/**
 * A browser repeats Basic credentials on its own, also for a form on a page of another site; it names the origin of
 * that page with every request that changes something (RFC 6454 section 7). Programs send no Origin.
 * @throws ProblemError when the request comes from another origin
 */
export function assertOwnOrigin(made: Made): void {
  if (made.origin !== undefined && changes(made.method) && (isElsewhere(made) || !isOwn(made))) throw foreign();
}

/**
 * A session is a browser's: a change by it names its origin, and has a header that no form can send, or, of the board, a method
 * that no form has. Even a page of the same site, which gets the cookie, must not ask for anything.
 * @throws ProblemError when a page of another origin may have made the request
 */
export function assertOwnPage(made: Made): void {
  if (isElsewhere(made)) throw foreign();
  if (!changes(made.method)) return;
  if (!isOwn(made) || !(made.isMarked || made.method === 'PUT')) throw foreign();
}
