/** A session of a partner for one of its users. */
export interface Session {
  readonly clientId: string;
  readonly userId: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** Where sessions are kept until they expire. Rejects while the store is away. */
export abstract class SessionStore {
  /** Keeps a session; `sessionId` itself is not stored, only its hash. */
  abstract keep(sessionId: string, session: Session, ttlMs: number): Promise<void>;

  abstract find(sessionId: string): Promise<Session | undefined>;
}
