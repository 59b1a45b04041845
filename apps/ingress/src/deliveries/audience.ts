import type { ClientDirectory } from '@relay/identity';
import { ProblemError } from '@relay/problem';

/** Form of the client ids that the relay issues. */
const CLIENT_ID = /^[\w-]{1,128}$/;

/**
 * The partners an envelope is for, sorted; empty means every partner with a matching webhook. A source bound to
 * partners reaches only those: all of them without the header, the named ones with it. Naming another partner is
 * refused rather than ignored, because the sender must not get a 202 for a partner it cannot reach.
 * @param header `relay-partner`; Node joins several of them with commas
 * @param bound partners the source is bound to; empty when it is bound to none
 * @throws ProblemError 400 `invalid-request`
 */
export function audienceOf(header: string | undefined, bound: readonly string[], isRequired: boolean): string[] {
  if (header === undefined) {
    if (isRequired && bound.length === 0)
      throw refused('This relay accepts no envelope without the header relay-partner.');
    return [...new Set(bound)].toSorted();
  }
  const named = [...new Set(header.split(',').map((name) => name.trim()))].toSorted();
  if (!named.every((name) => CLIENT_ID.test(name))) throw refused('The header relay-partner must name client ids.');
  if (bound.length > 0 && !named.every((name) => bound.includes(name))) {
    throw refused('The header relay-partner names a partner that this source is not bound to.');
  }
  return named;
}

/**
 * Refuses an envelope that names a partner who does not exist. With a 202 its id would be taken, and the corrected envelope would be
 * a conflict. While Redis is away the ingress cannot look partners up and accepts the envelope.
 * @throws ProblemError 400 `invalid-request`
 */
export async function assertPartners(
  audience: readonly string[],
  clients: Pick<ClientDirectory, 'isPartner'>,
): Promise<void> {
  const known = await Promise.all(audience.map((id) => clients.isPartner(id)));
  const missing = audience.filter((_, index) => known[index] === false);
  if (missing.length > 0)
    throw refused(`The header relay-partner names no partner of this relay: ${missing.join(', ')}.`);
}

const refused = (detail: string): ProblemError => new ProblemError('invalid-request', detail);
