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

/** Where sessions are kept until they expire. Rejects while the store is away. */
export abstract class SessionStore {
  /** Keeps a session; `sessionId` itself is not stored, only its hash. */
  abstract keep(sessionId: string, session: Session, ttlMs: number): Promise<void>;

  abstract find(sessionId: string): Promise<Session | undefined>;

  /** Ends a session; whether there was one. */
  abstract end(sessionId: string): Promise<boolean>;
}
