import type { SQLInputValue } from 'node:sqlite';
import { ENVELOPE_TYPES, StatusFilter, uuidBytes } from '@relay/events';
import { z } from 'zod';
import { OUTCOMES, SELECTED, type Named } from './attempt-row.js';
import { DELIVERY_ID, parseDeliveryId } from '@relay/delivery';

/** The first 19 digits of any cursor. */
const PLACE = /^\d{1,19}$/;

/** Rows looked at for one answer: a page may have fewer attempts than asked for, and a next one. */
export const LOOKED_AT = 100_000;

const moment = z.iso.datetime({ offset: true });
const name = z.string().min(1).max(255);

/** Filters of a search for attempts. */
export const AttemptSearch = z.strictObject({
  envelope: z.guid().toLowerCase().optional().describe('Id of the envelope.'),
  delivery: z
    .string()
    .max(160)
    .regex(DELIVERY_ID, 'the id of a delivery is expected')
    .optional()
    .describe('Id of the delivery, the replay of which is another one.'),
  webhook: z.guid().toLowerCase().optional().describe('Id of the webhook, deleted ones included.'),
  partner: name.optional().describe('Client id of the partner.'),
  type: z.enum(ENVELOPE_TYPES).optional().describe('Event type.'),
  outcome: z.enum(OUTCOMES).optional().describe('What followed the attempt.'),
  status: StatusFilter.optional(),
  error: name.optional().describe('Kind of failure of an attempt without an answer, such as `timeout`.'),
  host: name.toLowerCase().optional().describe('Host of the endpoint when it was attempted, without the port.'),
  since: moment.optional().describe('Only attempts that began then or later.'),
  until: moment.optional().describe('Only attempts that began before.'),
  limit: z.coerce.number().int().min(1).max(200).default(50).describe('Longest page: 1 to 200.'),
  cursor: z
    .string()
    .regex(PLACE, 'a cursor is the `next` of an earlier answer')
    .optional()
    .describe('The `next` of the page before.'),
});
export type AttemptSearch = z.infer<typeof AttemptSearch>;

export interface SearchStatement {
  /** Finds the rows of a page, and one more. */
  readonly sql: string;
  /** Finds the last row that was looked at, if there may be more. */
  readonly lastSql: string;
  readonly parameters: readonly SQLInputValue[];
  /** The subset of `parameters` that `lastSql` takes. */
  readonly lastParameters: readonly SQLInputValue[];
}

interface Condition {
  readonly text: string;
  readonly value: SQLInputValue;
  /** The index that finds it; undefined where it is looked for row by row. */
  readonly index?: string;
}

/**
 * The statements of a search: the most telling filter chooses the index, the others are compared row by row, newest first.
 * @param numberOf the number of a name; undefined when the index has never heard it
 * @returns undefined when nothing can be found
 */
export function statementOf(
  search: AttemptSearch,
  numberOf: (kind: Named, text: string) => number | undefined,
): SearchStatement | undefined {
  const conditions = conditionsOf(search, numberOf);
  if (conditions === undefined) return undefined;
  const [first] = conditions;
  const leading = first?.index === undefined ? undefined : first;
  const others = leading === undefined ? conditions : conditions.slice(1);
  const bounds: [string, SQLInputValue][] = [];
  if (search.cursor !== undefined) bounds.push(['id < CAST(? AS INTEGER)', search.cursor]);
  if (search.until !== undefined) bounds.push(['id < CAST(? AS INTEGER) << 20', Date.parse(search.until)]);
  if (search.since !== undefined) bounds.push(['id >= CAST(? AS INTEGER) << 20', Date.parse(search.since)]);
  if (leading !== undefined) bounds.unshift([leading.text, leading.value]);
  const from = `FROM attempts${leading === undefined ? '' : ` INDEXED BY ${leading.index}`}${whereOf(bounds.map(([text]) => text))} ORDER BY id DESC`;
  const lastParameters = bounds.map(([, value]) => value);
  return {
    sql: `SELECT ${SELECTED} FROM (SELECT * ${from} LIMIT ${LOOKED_AT})${whereOf(others.map(({ text }) => text))} LIMIT ${search.limit + 1}`,
    lastSql: `SELECT CAST(id AS TEXT) AS place ${from} LIMIT 1 OFFSET ${LOOKED_AT - 1}`,
    parameters: [...lastParameters, ...others.map(({ value }) => value)],
    lastParameters,
  };
}

const whereOf = (texts: readonly string[]): string => (texts.length === 0 ? '' : ` WHERE ${texts.join(' AND ')}`);

/** The most telling one first. */
function conditionsOf(
  search: AttemptSearch,
  numberOf: (kind: Named, text: string) => number | undefined,
): Condition[] | undefined {
  const conditions: Condition[] = [];
  const delivery = search.delivery === undefined ? undefined : parseDeliveryId(search.delivery);
  for (const id of [search.envelope, delivery?.envelopeId])
    if (id !== undefined) conditions.push({ text: 'envelope = ?', value: uuidBytes(id), index: 'by_envelope' });
  if (delivery !== undefined) {
    conditions.push({ text: 'hash = ?', value: Buffer.from(delivery.hash, 'hex') });
    conditions.push({ text: 'series = ?', value: delivery.series });
    conditions.push({ text: 'accepted + (id >> 20) = ?', value: delivery.acceptedAt });
  }
  const names: [Named, string | undefined][] = [
    ['webhook', search.webhook],
    ['webhook', delivery?.webhookId],
    ['host', search.host],
    ['error', search.error],
  ];
  const general: [Named, string | undefined][] = [
    ['partner', search.partner],
    ['type', search.type],
  ];
  for (const [kind, text] of names) if (!named(kind, text)) return undefined;
  if (search.outcome !== undefined && search.outcome !== 'delivered')
    conditions.push({
      text: `outcome = ? AND outcome > 0`,
      value: OUTCOMES.indexOf(search.outcome),
      index: 'by_outcome',
    });
  if (search.status !== undefined) conditions.push(...statusOf(search.status));
  for (const [kind, text] of general) if (!named(kind, text)) return undefined;
  if (search.outcome === 'delivered') conditions.push({ text: 'outcome = ?', value: 0 });
  return conditions.toSorted((a, b) => Number(a.index === undefined) - Number(b.index === undefined));

  function named(kind: Named, text: string | undefined): boolean {
    if (text === undefined) return true;
    const value = numberOf(kind, text);
    if (value === undefined) return false;
    conditions.push({
      text: kind === 'error' ? 'error = ? AND error IS NOT NULL' : `${kind} = ?`,
      value,
      index: `by_${kind}`,
    });
    return true;
  }
}

function statusOf(status: string): Condition[] {
  const rank = Number(status[0]);
  const ofClass: Condition =
    rank >= 3
      ? { text: 'status / 100 = ? AND status >= 300', value: rank, index: 'by_class' }
      : { text: 'status / 100 = ?', value: rank };
  return status.endsWith('xx') ? [ofClass] : [ofClass, { text: 'status = ?', value: Number(status) }];
}
