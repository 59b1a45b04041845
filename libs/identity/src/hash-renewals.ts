import { BoundedMemory } from './bounded-memory.js';
import type { ClientStore } from './client-store.port.js';
import type { ClientRecord } from './client.js';

/** Refreshes of the directory, one every two seconds, between two renewals for one client. */
const REFRESHES_BETWEEN = 300;

/**
 * Moves a client's hash to the writing key when the client presents its secret, the only moment when that is possible, so that an
 * older key becomes dispensable by use. It works in the background and seldom: processes with different writing keys undo each
 * other's renewals, and the registry keeps every change for ever.
 */
export class HashRenewals {
  readonly #renewed: BoundedMemory<number>;
  #refreshes = 0;

  constructor(
    private readonly store: ClientStore,
    limit: number,
  ) {
    this.#renewed = new BoundedMemory(limit);
  }

  /** The directory calls it at every refresh, which is the clock here. */
  refreshed(): void {
    this.#refreshes += 1;
  }

  /** Replaces one hash by another, if it is still there. */
  renew(clientId: string, older: string, current: string): void {
    const last = this.#renewed.get(clientId);
    if (last !== undefined && this.#refreshes - last < REFRESHES_BETWEEN) return;
    this.#renewed.set(clientId, this.#refreshes);
    // The client is authenticated already; after a failure a later use tries again.
    this.store.replace(clientId, (client) => renewed(client, older, current)).catch(() => undefined);
  }
}

/** The same object when it does not have the older hash. */
export function renewed(client: ClientRecord, older: string, current: string): ClientRecord {
  if (client.credential?.hash === older) return { ...client, credential: { ...client.credential, hash: current } };
  if (!client.secretHashes.includes(older)) return client;
  return { ...client, secretHashes: client.secretHashes.map((hash) => (hash === older ? current : hash)) };
}
