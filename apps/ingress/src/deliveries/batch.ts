import { readEnvelope, type AcceptedEnvelope, type EnvelopeError } from '@relay/events';
import { parseJson, splitArray, splitLines } from '@relay/json';
import { ProblemError } from '@relay/problem';
import type { BatchResult } from './receipt.js';

export const MAX_BATCH_BYTES = 4 * 1024 * 1024;
const MAX_ENVELOPES = 1_000;

/**
 * Splits a batch into its envelopes, each with its original bytes.
 * @throws ProblemError 400 when the body is no batch, 413 when it has too many envelopes
 */
export function splitBatch(bytes: Buffer | undefined, isLines: boolean): Buffer[] {
  if (bytes === undefined) throw new ProblemError('invalid-body', 'A batch of envelopes is expected.');
  const parts = isLines ? splitLines(bytes, MAX_ENVELOPES) : splitArray(bytes, MAX_ENVELOPES);
  if (parts === undefined) throw new ProblemError('malformed-json', 'The body is not a JSON array.');
  if (parts.length > MAX_ENVELOPES) {
    throw new ProblemError('payload-too-large', `A batch has at most ${MAX_ENVELOPES} envelopes, this one has more.`);
  }
  return parts;
}

/** Reads one envelope of a batch, or one CloudEvent by `read`; returns its result when it is invalid. */
export function readPart(
  bytes: Buffer,
  audience: readonly string[],
  read = readEnvelope,
): AcceptedEnvelope | BatchResult {
  const result = read(bytes, audience);
  return result.ok ? result.envelope : invalid(result.fault === 'invalid' ? idOf(bytes) : null, result.errors);
}

const invalid = (id: string | null, errors: readonly EnvelopeError[]): BatchResult => ({
  id,
  status: 'invalid',
  errors: [...errors],
});

/** The id as sent, by which the sender finds the faulty envelope; only if it is a text as long as a UUID. */
function idOf(bytes: Buffer): string | null {
  const json = parseJson(bytes);
  if (!json.ok || typeof json.value !== 'object' || json.value === null || !('id' in json.value)) return null;
  const { id } = json.value;
  return typeof id === 'string' && id.length === 36 ? id : null;
}
