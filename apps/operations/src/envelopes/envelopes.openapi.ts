import { LINK, type OperationText } from '@relay/openapi';
import { AttemptSearch } from '@relay/search';
import { ClueQuery, EnvelopeStory } from '@relay/story';
import { z } from 'zod';
import { AttemptAnswers } from './attempt-answers.js';
import { EnvelopeId } from './envelope-request.js';

const tag = 'Envelopes';
const path = { id: { schema: EnvelopeId, example: '6f1e2d3c-4b5a-4968-8776-655443322110' } };

export const readStory: OperationText = {
  id: 'readEnvelopeStory',
  tag,
  summary: 'Read what became of an envelope',
  description:
    'Each webhook’s deliveries in order, each with its attempts. `incomplete` names the parts that are away. `type` and `around` go together; only an envelope that was never attempted needs them. The role `viewer` gets no answers of endpoints.',
  path,
  query: ClueQuery,
  answer: { description: 'Its story.', content: { schema: EnvelopeStory } },
  problems: ['not-found', 'unavailable'],
};

export const readPayload: OperationText = {
  id: 'readEnvelope',
  tag,
  summary: 'Read an envelope as its source sent it',
  description: '`relay.operations` has a record of it. The log keeps envelopes for 7 days.',
  path,
  query: ClueQuery,
  answer: { description: 'Its bytes.', content: { schema: z.looseObject({}) } },
  problems: ['not-found', 'unavailable'],
};

export const searchAttempts: OperationText = {
  id: 'searchAttempts',
  tag,
  summary: 'Search attempts',
  description: 'All given filters apply. Pages do not shift while attempts arrive. 404 where the index is off.',
  query: AttemptSearch,
  answer: { description: 'Attempts, newest first.', headers: LINK, content: { schema: AttemptAnswers } },
  problems: ['not-found'],
};
