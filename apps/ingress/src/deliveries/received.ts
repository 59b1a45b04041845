import type { IncomingHttpHeaders } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { readBinaryCloudEvent, readCloudEvent, readEnvelope, type AcceptedEnvelope, type EnvelopeError, type EnvelopeResult } from '@relay/events';
import { mediaTypeOf } from '@relay/http';
import { parseJson, splitArray, splitLines } from '@relay/json';
import { ProblemError } from '@relay/problem';
import { CLOUD_EVENT, type BatchResult } from './deliveries.openapi.js';

const ATTRIBUTES = ['specversion', 'id', 'source', 'type', 'time'].map((name) => [name, `ce-${name}`] as const);

/**
 * Reads the envelope of a request to `POST /deliveries`: as it is, or as a CloudEvent by the HTTP binding 1.0.2,
 * structured (section 3.2) by its content type, binary (section 3.1) by its headers. Never throws.
 */
export function readReceived(headers: IncomingHttpHeaders, bytes: Buffer, audience: readonly string[]): EnvelopeResult {
  if (mediaTypeOf(headers) === CLOUD_EVENT) return readCloudEvent(bytes, audience);
  if (ATTRIBUTES.every(([, header]) => headers[header] === undefined)) return readEnvelope(bytes, audience);
  const attributes = Object.fromEntries(ATTRIBUTES.map(([name, header]) => [name, headers[header]?.toString()]));
  return readBinaryCloudEvent(attributes, bytes, audience);
}

export const MAX_BATCH_BYTES = 4 * 1024 * 1024;
const MAX_ENVELOPES = 1_000;

/** The envelopes of a batch, each with its original bytes. @throws ProblemError 400 for no batch, 413 for too many envelopes */
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

/** Reading so many envelopes takes a few milliseconds, in which nobody else is answered. */
const ITEMS_PER_TURN = 25;

/** The results of `work`, begun with the items in their order, so many in one turn of the event loop. */
export async function inTurns<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Promise<Result>[] = [];
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % ITEMS_PER_TURN === 0) await turn();
    const result = work(item);
    // `Promise.all` rejects with it, but perhaps a turn later.
    result.catch(() => undefined);
    results.push(result);
  }
  return Promise.all(results);
}
