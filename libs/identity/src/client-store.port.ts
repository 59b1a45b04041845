import { z } from 'zod';
import type { ClientRecord } from './client.js';

export const Insertion = z.enum(['inserted', 'client-exists', 'credential-exists']);
export type Insertion = z.infer<typeof Insertion>;

/** The store of clients. Every method rejects while the store is away or may have lost writes. */
export abstract class ClientStore {
  /** Adds a client. `credentialHashes`, under every key, must belong to no client yet; otherwise nothing is stored. */
  abstract insert(client: ClientRecord, credentialHashes: readonly string[]): Promise<Insertion>;

  /**
   * Replaces a client by the result of `change`, and repeats it when another writer was faster. Writes nothing when the result is
   * the same object. Undefined when the client does not exist.
   * @param another a scope that another enabled client must have at that moment
   * @throws ClientRefused when no other has it
   */
  abstract replace(
    clientId: string,
    change: (client: ClientRecord) => ClientRecord,
    another?: string,
  ): Promise<ClientRecord | undefined>;

  abstract find(clientId: string): Promise<ClientRecord | undefined>;

  /** The id of the client whose fixed credential has one of these hashes. */
  abstract findIdByCredential(hashes: readonly string[]): Promise<string | undefined>;

  /** The hash of every fixed credential, with the id of its client. */
  abstract credentials(): Promise<ReadonlyMap<string, string>>;

  /** Oldest first. */
  abstract list(): Promise<ClientRecord[]>;

  /** Changes with every change of a client; caches compare it. */
  abstract version(): Promise<string>;
}
