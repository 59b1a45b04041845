import type { OperationText } from '@relay/openapi';
import { NoMembers, SessionAnswer, SessionId, SessionReference, UserId } from './session.js';

const tag = 'Sessions';
const userId = { schema: UserId, example: '9d8c7b6a-5f4e-4d3c-8b2a-190817263544' };
const sessionId = { schema: SessionId, example: 'Zk3mQ0Yt1a6rXc9uE4wPj2bVh8sLd7fNgTqKoM5iRyA' };

export const createSession: OperationText = {
  id: 'createSession',
  tag,
  summary: 'Start a session for a user',
  description:
    'A session ends by itself after `SESSION_TTL`, one hour unless the operator says otherwise. A user has at most ten: a further one ends the session with the earliest expiry. You have at most `SESSIONS_PER_PARTNER` (100,000) and open at most `SESSION_RATE_LIMIT` (6,000) a minute; beyond either the answer is 429.',
  path: { userId },
  body: { isRequired: false, schema: NoMembers, example: {} },
  answer: {
    description: 'The session.',
    content: { schema: SessionReference, example: { sessionId: sessionId.example } },
  },
};

export const readSession: OperationText = {
  id: 'readSession',
  tag,
  summary: 'Read a session',
  path: { sessionId },
  answer: {
    description: 'The session.',
    content: {
      schema: SessionAnswer,
      example: { sessionId: sessionId.example, userId: userId.example, expiresAt: '2030-01-01T10:00:00.000Z' },
    },
  },
  problems: ['not-found'],
};

export const endSession: OperationText = {
  id: 'endSession',
  tag,
  summary: 'End a session',
  path: { sessionId },
  answer: { description: 'It has ended.' },
  problems: ['not-found'],
};
