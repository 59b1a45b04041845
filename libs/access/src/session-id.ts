import { createHash } from 'node:crypto';

const HALF = 16;

/**
 * A new session id: 16 bytes shared by every session of the user at this partner, then 16 random bytes. The first half locates the
 * user's sessions in the store and reveals nothing about the user.
 */
export function newSessionId(clientId: string, userId: string, random: Buffer): string {
  if (random.length !== HALF) throw new RangeError('16 random bytes are expected');
  const user = createHash('sha256').update(`${clientId} ${userId}`).digest().subarray(0, HALF);
  return Buffer.concat([user, random]).toString('base64url');
}

/** Location of a session in the store: of its user, and its own there. Neither reveals the id. */
export interface SessionPlace {
  readonly user: string;
  readonly session: string;
}

/** The id has 128 random bits: its hash needs no key and no more bits than that. */
export const placeOf = (sessionId: string): SessionPlace => ({
  user: Buffer.from(sessionId, 'base64url').subarray(0, HALF).toString('base64url'),
  session: createHash('sha256').update(sessionId).digest().subarray(0, HALF).toString('base64url'),
});
