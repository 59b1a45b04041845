import type { ClientRecord } from '@relay/identity';

/** The partner with this id or name; without one, the only partner there is. @throws Error that lists the partners */
export function partnerOf(clients: readonly ClientRecord[], named: string | undefined): ClientRecord {
  const partners = clients.filter(({ kind, disabled }) => kind === 'partner' && !disabled);
  const meant =
    named === undefined ? partners : partners.filter(({ clientId, name }) => clientId === named || name === named);
  const [partner, ...others] = meant;
  if (partner !== undefined && others.length === 0) return partner;
  if (partners.length === 0) throw new Error('There is no partner: `relay partners create NAME` makes one');
  const shown = (partner === undefined ? partners : meant).map(({ clientId, name }) => `${name} (${clientId})`);
  const fault = named === undefined ? 'There are several partners' : `${meant.length} partners are called ${named}`;
  throw new Error(`${fault}: name one by --partner and its id, of ${shown.slice(0, 10).join(', ')}`);
}
