import type { SQLInputValue } from 'node:sqlite';
import { DELIVERY_ID, deliveryId, parseDeliveryId } from '@relay/delivery';
import { type AttemptRecord, eventTypeName, StatusFilter, uuidBytes, uuidOf } from '@relay/events';
import { z } from 'zod';

/**
 * An attempt in the index.
 * @property host host of the endpoint, if it was known when the attempt was indexed
 */
export type IndexedAttempt = AttemptRecord & { readonly host?: string | undefined };

/** Kinds of names. Each name is stored once and has a number; the column of the same name as the kind stores that number. */
export const NAMED = ['webhook', 'partner', 'type', 'host', 'error', 'reason'] as const;
export type Named = (typeof NAMED)[number];

const OUTCOMES = ['delivered', 'retry', 'dead-letter', 'cancelled'] as const satisfies AttemptRecord['outcome'][];

/** Version of the tables. Raise it with every change of them: a file of another version is deleted and built again. */
export const VERSION = 3;

/**
 * The tables of the index. The `id` of an attempt is its time in milliseconds followed by 20 bits that number the attempts
 * of the same millisecond. All indexes are therefore ordered by time without a column for it. Other times are stored as
 * differences from this time, which take only a byte or two.
 *
 * The indexes for errors, statuses and outcomes leave out the most frequent values: nearly all attempts are delivered, with
 * a 2xx status and without an error. A search for these values finds enough rows by time alone.
 *
 * `minutes` counts the attempts of each minute since the epoch, so that a chart reads no attempts. Its `bucket` is four times
 * the binary logarithm of the duration in ms, rounded, or -1 without a duration. A duration read from it is at most 9 % off.
 */
export const TABLES = [
  'CREATE TABLE facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID',
  'CREATE TABLE positions (partition INTEGER PRIMARY KEY, next INTEGER, last INTEGER, timestamp INTEGER)',
  'CREATE TABLE names (id INTEGER PRIMARY KEY, kind TEXT, text TEXT)',
  `CREATE TABLE attempts (id INTEGER PRIMARY KEY, envelope BLOB, ${NAMED.map((name) => `${name} INTEGER`).join(', ')}, hash BLOB, series INTEGER, accepted INTEGER, outcome INTEGER, final INTEGER, attempt INTEGER, duration INTEGER, status INTEGER, detail TEXT, answer TEXT, headers TEXT, timing TEXT, next INTEGER)`,
  'CREATE INDEX by_envelope ON attempts (envelope)',
  'CREATE INDEX by_webhook ON attempts (webhook)',
  'CREATE INDEX by_partner ON attempts (partner)',
  'CREATE INDEX by_type ON attempts (type)',
  'CREATE INDEX by_host ON attempts (host)',
  'CREATE INDEX by_error ON attempts (error) WHERE error IS NOT NULL',
  'CREATE INDEX by_class ON attempts (status / 100) WHERE status >= 300',
  'CREATE INDEX by_outcome ON attempts (outcome) WHERE outcome > 0',
  'CREATE TABLE minutes (at INTEGER, failed INTEGER, bucket INTEGER, attempts INTEGER, PRIMARY KEY (at, failed, bucket)) WITHOUT ROWID',
  `CREATE TRIGGER counted AFTER INSERT ON attempts WHEN new.outcome < ${OUTCOMES.indexOf('cancelled')} BEGIN INSERT INTO minutes VALUES ((new.id >> 20) / 60000, new.outcome > 0, coalesce(round(4 * log2(max(1, new.duration))), -1), 1) ON CONFLICT DO UPDATE SET attempts = attempts + 1; END`,
  `PRAGMA user_version = ${VERSION}`,
];

const LATEST = (column: string): string =>
  `coalesce(?, (SELECT ${column} FROM attempts WHERE webhook = ?3 ORDER BY id DESC LIMIT 1))`;

/**
 * Inserts an attempt. It gets the first free id after the others of its millisecond. If partner or host are not known,
 * because the webhook was deleted, they are copied from the latest attempt of the same webhook.
 */
export const INSERT_ATTEMPT = `INSERT INTO attempts VALUES (coalesce((SELECT max(id) + 1 FROM attempts WHERE id >= CAST(?1 AS INTEGER) << 20 AND id < (CAST(?1 AS INTEGER) + 1) << 20), CAST(?1 AS INTEGER) << 20), ?2, ?3, ${LATEST('partner').replace('?', '?4')}, ?5, ${LATEST('host').replace('?', '?6')}, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)`;

export const SELECTED = `CAST(id AS TEXT) AS place, id >> 20 AS at, envelope, ${NAMED.join(', ')}, hash, series, accepted, outcome, final, attempt, duration, status, detail, answer, headers, timing, next`;

type Row = Readonly<Record<string, SQLInputValue>>;

/** Returns the names of an attempt by kind. */
export const namesOf = ({ webhookId, partnerId, eventType, host, error, reason }: IndexedAttempt) =>
  ({ webhook: webhookId, partner: partnerId, type: eventType, host, error, reason }) satisfies Record<
    Named,
    string | undefined
  >;

/**
 * Returns the parameters for `INSERT_ATTEMPT`; undefined if the attempt has no valid delivery id or time.
 * @param numberOf returns the number of a name
 */
export function parametersOf(
  attempt: IndexedAttempt,
  numberOf: (kind: Named, text: string | undefined) => number | null,
): SQLInputValue[] | undefined {
  const named = parseDeliveryId(attempt.deliveryId);
  const at = Date.parse(attempt.at);
  if (named === undefined || Number.isNaN(at)) return undefined;
  const names = namesOf(attempt);
  return [
    at,
    uuidBytes(named.envelopeId),
    ...NAMED.map((kind) => numberOf(kind, names[kind])),
    Buffer.from(named.hash, 'hex'),
    named.series,
    named.acceptedAt - at,
    OUTCOMES.indexOf(attempt.outcome),
    attempt.final ? 1 : 0,
    attempt.attempt ?? null,
    attempt.durationMs ?? null,
    attempt.status ?? null,
    attempt.detail ?? null,
    attempt.answer ?? null,
    jsonOr(attempt.answerHeaders),
    jsonOr(attempt.timing),
    attempt.nextAt === undefined ? null : Date.parse(attempt.nextAt) - at,
  ];
}

/** Converts a row of `SELECTED` to an attempt. @param textOf returns the name that has a number */
export function attemptOf(row: Row, textOf: (number: SQLInputValue) => string | undefined): IndexedAttempt {
  const at = Number(row['at']);
  const [envelopeId, webhookId] = [
    uuidOf(Buffer.from(row['envelope'] as Uint8Array)),
    textOf(row['webhook'] ?? null) ?? '',
  ];
  const facts = {
    partnerId: textOf(row['partner'] ?? null),
    host: textOf(row['host'] ?? null),
    attempt: numberOr(row['attempt']),
    durationMs: numberOr(row['duration']),
    status: numberOr(row['status']),
    error: textOf(row['error'] ?? null),
    detail: textOr(row['detail']),
    answer: textOr(row['answer']),
    answerHeaders: parsedOr(row['headers']),
    timing: parsedOr(row['timing']),
    reason: textOf(row['reason'] ?? null),
    nextAt: row['next'] === null ? undefined : new Date(at + Number(row['next'])).toISOString(),
  };
  return {
    deliveryId: deliveryId({
      webhookId,
      envelopeId,
      hash: Buffer.from(row['hash'] as Uint8Array).toString('hex'),
      series: Number(row['series']),
      acceptedAt: at + Number(row['accepted']),
    }),
    envelopeId,
    webhookId,
    eventType: textOf(row['type'] ?? null) ?? '',
    at: new Date(at).toISOString(),
    outcome: OUTCOMES[Number(row['outcome'])] ?? 'retry',
    final: row['final'] === 1,
    ...Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)),
  };
}

const numberOr = (value: SQLInputValue | undefined): number | undefined => (value === null ? undefined : Number(value));
const textOr = (value: SQLInputValue | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined;
const jsonOr = (value: object | undefined): string | null => (value === undefined ? null : JSON.stringify(value));
const parsedOr = (value: SQLInputValue | undefined): object | undefined =>
  typeof value === 'string' ? (JSON.parse(value) as object) : undefined;

/**
 * Attempts of a minute or an hour. Durations are in ms, and `null` without an attempt that has one.
 * @property at when the minute or hour begins (ISO 8601)
 */
export interface AttemptCount {
  readonly at: string;
  readonly delivered: number;
  readonly failedAttempts: number;
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly p99Ms: number | null;
}

/** Selects the sums of `minutes` by step, in the order of the buckets. Parameters: minutes of a step, first and last minute. */
export const COUNTED =
  'SELECT at / CAST(?1 AS INTEGER) AS step, failed, bucket, sum(attempts) AS attempts FROM minutes WHERE at BETWEEN ?2 AND ?3 GROUP BY 1, 2, 3 ORDER BY bucket';

/** Returns the counts of one step from its rows of `COUNTED`. @param at when it begins, in epoch milliseconds */
export function countOf(at: number, rows: readonly Row[]): AttemptCount {
  const sumOf = (some: readonly Row[]): number => some.reduce((sum, row) => sum + Number(row['attempts']), 0);
  const timed = rows.filter((row) => Number(row['bucket']) >= 0);
  const percentile = (share: number): number | null => {
    let left = share * sumOf(timed);
    const found = timed.find((row) => (left -= Number(row['attempts'])) <= 0);
    return found === undefined ? null : Math.round(2 ** (Number(found['bucket']) / 4));
  };
  const failedAttempts = sumOf(rows.filter((row) => row['failed'] === 1));
  const durations = { p50Ms: percentile(0.5), p95Ms: percentile(0.95), p99Ms: percentile(0.99) };
  return { at: new Date(at).toISOString(), delivered: sumOf(rows) - failedAttempts, failedAttempts, ...durations };
}

/** A cursor: the id of a row, which has at most 19 digits. */
const PLACE = /^\d{1,19}$/;

/**
 * Maximum number of rows that one search examines. A page may therefore have fewer attempts than asked for, but a next page.
 */
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
  type: eventTypeName('known').optional().describe('Event type.'),
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

interface SearchStatement {
  /** Selects the rows of a page and one more, which shows whether there is a next page. */
  readonly sql: string;
  /** Selects the last row that was examined, if the search stopped at the limit of examined rows. */
  readonly lastSql: string;
  readonly parameters: readonly SQLInputValue[];
  /** The first of `parameters`, which `lastSql` needs. */
  readonly lastParameters: readonly SQLInputValue[];
}

interface Condition {
  readonly text: string;
  readonly value: SQLInputValue;
  /** The SQL index that finds the rows; undefined if rows are compared one by one. */
  readonly index?: string;
}

/**
 * Returns the statements of a search. The most selective filter determines the index. All further filters are compared row
 * by row, newest first.
 * @param numberOf returns the number of a name; undefined if the index has never stored the name
 * @returns the statements; undefined if no attempt can match
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

/** Returns the conditions of a search, the most selective first; undefined if no attempt can match. */
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
