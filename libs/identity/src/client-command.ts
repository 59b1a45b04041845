import { z } from 'zod';

/** A change of the clients, complete in itself. Records are JSON texts as stored; `from` is the record it was built on. */
export type ClientCommand =
  | {
      readonly kind: 'insert';
      readonly clientId: string;
      readonly record: string;
      /** Hashes of its fixed credential under every key: no client may have one; the first is stored. */
      readonly hashes: readonly string[];
    }
  | {
      readonly kind: 'replace';
      readonly clientId: string;
      readonly from: string;
      readonly to: string;
      /** A scope that another enabled client must have when the command is applied. */
      readonly another?: string;
    };

/** `stale`: the client changed since the command was built. `last`: no other enabled client has the scope `another`. */
export const ClientResult = z.object({
  kind: z.enum(['inserted', 'client-exists', 'credential-exists', 'replaced', 'stale', 'last']),
});
