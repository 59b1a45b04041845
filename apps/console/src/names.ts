import { signal } from '@preact/signals';
import { type Answer, api } from './session.js';

/** Names of clients by their ids, so that lists show names. */
export const names = signal<ReadonlyMap<string, string>>(new Map());

/** All clients; their names are known from then on. @throws Refused */
export async function loadClients(): Promise<Answer<'listClients'>> {
  const found = await api.call('listClients', { query: { limit: 10_000 } });
  names.value = new Map(found.clients.map(({ clientId, name }) => [clientId, name]));
  return found;
}
