import { z } from 'zod';

/** A change of the clients, complete in itself. Records are JSON texts as they are stored; `from` is the one it was built upon. */
export type ClientCommand =
  | {
      readonly kind: 'insert';
      readonly clientId: string;
      readonly record: string;
      /** Hashes of its fixed credential under every key: they must belong to nobody; the first is stored. */
      readonly hashes: readonly string[];
    }
  | { readonly kind: 'replace'; readonly clientId: string; readonly from: string; readonly to: string };

/** `stale`: the client is no longer what the command was built upon; build it again. */
export const ClientResult = z.object({
  kind: z.enum(['inserted', 'client-exists', 'credential-exists', 'replaced', 'stale']),
});
