import { z } from 'zod';

/** A session of a partner for one of its users. */
export const Session = z.object({
  clientId: z.string(),
  /** UUID in lower case. */
  userId: z.string(),
  /** Epoch milliseconds. */
  expiresAt: z.number(),
});
export type Session = z.infer<typeof Session>;

/** What may live at once. */
export interface SessionLimits {
  readonly ofPartner: number;
  /** Of one user at one partner: a further session ends the one that would end first. */
  readonly ofUser: number;
}

/** `full`: the partner has as many as it may; some end by themselves in so many seconds. */
export type Opening =
  { readonly kind: 'opened'; readonly sessionId: string } | { readonly kind: 'full'; readonly waitS: number };

/**
 * Where sessions are kept until they expire, under limits that hold over all processes. Another partner's session is not found.
 * Rejects while the store is away.
 */
export abstract class SessionStore {
  /** Opens a session for so long; its id itself is not stored. */
  abstract open(clientId: string, userId: string, ttlMs: number): Promise<Opening>;

  abstract find(clientId: string, sessionId: string): Promise<Session | undefined>;

  /** Ends a session; whether there was one. */
  abstract end(clientId: string, sessionId: string): Promise<boolean>;
}
