import { LINK, type OperationText } from '@relay/openapi';
import { z } from 'zod';
import { InspectedLetter, LetterFacets, LetterList, PurgeOutcome, ReplayOutcome } from './letter-answers.js';
import { FacetQuery, LetterQuery, LetterSelection, OneLetter } from './letter-request.js';

const tag = 'Dead letters';
const path = {
  id: {
    schema: z.string().describe('Identifier of the delivery.'),
    example: '3f2b1c0d-9e8f-4a7b-8c6d-5e4f3a2b1c0d_6f1e2d3c-4b5a-4968-8776-655443322110_0123456789abcdef_0_1',
  },
};
const one = { isRequired: false, schema: OneLetter, example: { dryRun: true } };
const many = { isRequired: true, schema: LetterSelection, example: { reason: 'attempts_exhausted', dryRun: true } };
const replayed = { description: 'Replayed, or counted only.', content: { schema: ReplayOutcome } };
const purged = { description: 'Purged, or counted only.', content: { schema: PurgeOutcome } };

export const listDeadLetters: OperationText = {
  id: 'listDeadLetters',
  tag,
  summary: 'List dead letters',
  query: LetterQuery,
  answer: { description: 'The newest ones.', headers: LINK, content: { schema: LetterList } },
};

export const countDeadLetters: OperationText = {
  id: 'countDeadLetters',
  tag,
  summary: 'Count dead letters by type, reason, webhook and partner',
  query: FacetQuery,
  answer: { description: 'The counts.', content: { schema: LetterFacets } },
};

export const readDeadLetter: OperationText = {
  id: 'readDeadLetter',
  tag,
  summary: 'Read a dead letter with its envelope',
  description: '`relay.operations` has a record of it.',
  path,
  answer: { description: 'The dead letter.', content: { schema: InspectedLetter } },
  problems: ['not-found'],
};

export const replayDeadLetters: OperationText = {
  id: 'replayDeadLetters',
  tag,
  summary: 'Replay dead letters',
  description: 'Selected by ids, by `all`, or by filters, in one of these ways.',
  body: many,
  answer: replayed,
};

export const purgeDeadLetters: OperationText = {
  id: 'purgeDeadLetters',
  tag,
  summary: 'Purge dead letters',
  description: 'Selected by ids, by `all`, or by filters, in one of these ways.',
  body: many,
  answer: purged,
};

export const replayDeadLetter: OperationText = {
  id: 'replayDeadLetter',
  tag,
  summary: 'Replay one dead letter',
  path,
  body: one,
  answer: replayed,
  problems: ['not-found'],
};

export const purgeDeadLetter: OperationText = {
  id: 'purgeDeadLetter',
  tag,
  summary: 'Purge one dead letter',
  path,
  body: one,
  answer: purged,
  problems: ['not-found'],
};
