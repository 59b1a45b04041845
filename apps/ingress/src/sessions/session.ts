import { z } from 'zod';

/** The optional body of a new session, which has no members. */
export const NoMembers = z.object({}).meta({ description: 'No member has a meaning.' });
export type NoMembers = z.infer<typeof NoMembers>;

export const UserId = z.guid().toLowerCase().describe('Identifier of the user, in either letter case.');

export const SessionId = z
  .string()
  .regex(/^[\w-]{43}$/)
  .describe('Opaque; 128 random bits. Whoever has it and a token of yours can read and end the session.');

export const SessionReference = z
  .object({ sessionId: SessionId })
  .meta({ id: 'SessionReference', description: 'A new session of the user named in the path.' });
export type SessionReference = z.infer<typeof SessionReference>;

export const SessionAnswer = z
  .object({
    sessionId: SessionId,
    userId: z.guid().describe('The user, in lower case.'),
    expiresAt: z.iso.datetime().describe('When the session ends by itself.'),
  })
  .meta({ id: 'Session', description: 'A session that has not ended.' });
export type SessionAnswer = z.infer<typeof SessionAnswer>;
