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

export interface SessionLimits {
  readonly ofPartner: number;
  /** Of one user at one partner: a further session ends the one with the earliest expiry. */
  readonly ofUser: number;
}

/** `full`: the partner has reached its limit; some sessions expire in so many seconds. */
export type Opening =
  | { readonly kind: 'opened'; readonly sessionId: string }
  | { readonly kind: 'full'; readonly waitS: number };

/**
 * Sessions until their expiry, under limits over all processes. A session of another partner is not found. Rejects while the store
 * is away.
 */
export abstract class SessionStore {
  /** Opens a session with this lifetime. Its id is not stored. */
  abstract open(clientId: string, userId: string, ttlMs: number): Promise<Opening>;

  abstract find(clientId: string, sessionId: string): Promise<Session | undefined>;

  /** Ends a session. Returns whether there was one. */
  abstract end(clientId: string, sessionId: string): Promise<boolean>;
}
