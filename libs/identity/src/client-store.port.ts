import { z } from 'zod';
import type { ClientRecord } from './client.js';

/** What became of a new client; anything but `inserted` was in the way. */
export const Insertion = z.enum(['inserted', 'client-exists', 'credential-exists']);
export type Insertion = z.infer<typeof Insertion>;

/** Where clients are kept. Every method rejects while the store is away, or may have forgotten something. */
export abstract class ClientStore {
  /**
   * Adds a client; `credentialHashes` are those that must belong to nobody yet, under every key.
   * Stores nothing when there was something in the way.
   */
  abstract insert(client: ClientRecord, credentialHashes: readonly string[]): Promise<Insertion>;

  /**
   * Replaces a client by what `change` makes of it, again when another writer was faster; nothing is written when that is the
   * same object. Undefined when there is none.
   */
  abstract replace(clientId: string, change: (client: ClientRecord) => ClientRecord): Promise<ClientRecord | undefined>;

  abstract find(clientId: string): Promise<ClientRecord | undefined>;

  /** The id of the client whose fixed credential has one of these hashes. */
  abstract findIdByCredential(hashes: readonly string[]): Promise<string | undefined>;

  /** The hash of every fixed credential there is, and whose it is. */
  abstract credentials(): Promise<ReadonlyMap<string, string>>;

  /** Oldest first. */
  abstract list(): Promise<ClientRecord[]>;

  /** Moves whenever any client changes; readers who remember clients compare it. */
  abstract version(): Promise<string>;
}
