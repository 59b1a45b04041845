import type { IncomingHttpHeaders } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import {
  readBinaryCloudEvent,
  readCloudEvent,
  readEnvelope,
  type AcceptedEnvelope,
  type EnvelopeError,
  type EnvelopeResult,
  type SenderRules,
} from '@relay/events';
import { mediaTypeOf } from '@relay/http';
import type { ClientDirectory } from '@relay/identity';
import { parseJson, splitArray, splitLines } from '@relay/json';
import { ProblemError } from '@relay/problem';
import { CLOUD_EVENT, type BatchResult } from './deliveries.openapi.js';

/** Form of the client ids that the relay issues. */
const CLIENT_ID = /^[\w-]{1,128}$/;

/**
 * Returns the partners that an envelope is for, sorted; empty means every partner with a matching webhook. A source that is
 * bound to partners reaches only those: all of them without the header, otherwise the named ones. Another partner in the
 * header is refused and not ignored, because the sender must not get a 202 for a partner that it cannot reach.
 * @param header `relay-partner`; Node joins repeated headers with commas
 * @param bound partners to which the source is bound; empty if it is bound to none
 * @throws ProblemError 400 `invalid-request`
 */
export function audienceOf(header: string | undefined, bound: readonly string[], isRequired: boolean): string[] {
  if (header === undefined) {
    if (isRequired && bound.length === 0)
      throw refused('This relay accepts no envelope without the header relay-partner.');
    return [...new Set(bound)].toSorted();
  }
  const named = [...new Set(header.split(',').map((name) => name.trim()))].toSorted();
  if (!named.every((name) => CLIENT_ID.test(name))) throw refused('The header relay-partner must name client ids.');
  if (bound.length > 0 && !named.every((name) => bound.includes(name))) {
    throw refused('The header relay-partner names a partner that this source is not bound to.');
  }
  return named;
}

/**
 * Refuses an envelope that names an unknown partner. Otherwise its id is taken, and the corrected envelope is a conflict.
 * While Redis is away the ingress cannot look partners up, and accepts the envelope.
 * @throws ProblemError 400 `invalid-request`
 */
export async function assertPartners(
  audience: readonly string[],
  clients: Pick<ClientDirectory, 'isPartner'>,
): Promise<void> {
  const known = await Promise.all(audience.map((id) => clients.isPartner(id)));
  const missing = audience.filter((_, index) => known[index] === false);
  if (missing.length > 0)
    throw refused(`The header relay-partner names no partner of this relay: ${missing.join(', ')}.`);
}

const refused = (detail: string): ProblemError => new ProblemError('invalid-request', detail);

const ATTRIBUTES = ['specversion', 'id', 'source', 'type', 'time'].map((name) => [name, `ce-${name}`] as const);

/**
 * Reads the body of `POST /deliveries`, which is an envelope or a CloudEvent. The HTTP binding 1.0.2 has two forms of a
 * CloudEvent: the structured form (section 3.2) is recognized by its content type, and the binary form (section 3.1) by the
 * headers that carry its attributes. Never throws.
 */
export function readReceived(
  headers: IncomingHttpHeaders,
  bytes: Buffer,
  audience: readonly string[],
  sender: SenderRules,
): EnvelopeResult {
  if (mediaTypeOf(headers) === CLOUD_EVENT) return readCloudEvent(bytes, audience, sender);
  if (ATTRIBUTES.every(([, header]) => headers[header] === undefined)) return readEnvelope(bytes, audience, sender);
  const attributes = Object.fromEntries(ATTRIBUTES.map(([name, header]) => [name, headers[header]?.toString()]));
  return readBinaryCloudEvent(attributes, bytes, audience, sender);
}

export const MAX_BATCH_BYTES = 4 * 1024 * 1024;
const MAX_ENVELOPES = 1_000;

/** Returns the original bytes of each envelope. @throws ProblemError 400 for no batch, 413 for too many envelopes */
export function splitBatch(bytes: Buffer | undefined, isLines: boolean): Buffer[] {
  if (bytes === undefined) throw new ProblemError('invalid-body', 'A batch of envelopes is expected.');
  const parts = isLines ? splitLines(bytes, MAX_ENVELOPES) : splitArray(bytes, MAX_ENVELOPES);
  if (parts === undefined)
    throw new ProblemError(
      'malformed-json',
      'Send the envelopes as a JSON array, or one a line as application/x-ndjson.',
    );
  if (parts.length > MAX_ENVELOPES) {
    throw new ProblemError('payload-too-large', `A batch has at most ${MAX_ENVELOPES} envelopes, this one has more.`);
  }
  return parts;
}

/** Reads one envelope of a batch, or one CloudEvent by `read`. Returns its entry of the answer if it is invalid. */
export function readPart(
  bytes: Buffer,
  audience: readonly string[],
  sender: SenderRules,
  read = readEnvelope,
): AcceptedEnvelope | BatchResult {
  const result = read(bytes, audience, sender);
  if (result.ok) return result.envelope;
  return invalid(result.fault === 'invalid' || result.fault === 'forbidden' ? idOf(bytes) : null, result.errors);
}

const invalid = (id: string | null, errors: readonly EnvelopeError[]): BatchResult => ({
  id,
  status: 'invalid',
  errors: [...errors],
});

/** Returns the id as sent, by which the sender finds the faulty envelope; null unless it is a text as long as a UUID. */
function idOf(bytes: Buffer): string | null {
  const json = parseJson(bytes);
  if (!json.ok || typeof json.value !== 'object' || json.value === null || !('id' in json.value)) return null;
  const { id } = json.value;
  return typeof id === 'string' && id.length === 36 ? id : null;
}

/** Envelopes read in a turn of the event loop: a few milliseconds, in which no other caller is answered. */
const ITEMS_PER_TURN = 25;

/** Begins `work` with the items in their order, ITEMS_PER_TURN in a turn of the event loop, and returns the results. */
export async function inTurns<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Promise<Result>[] = [];
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % ITEMS_PER_TURN === 0) await turn();
    const result = work(item);
    // `Promise.all` handles the rejection, but perhaps a turn too late for Node.
    result.catch(() => undefined);
    results.push(result);
  }
  return Promise.all(results);
}
