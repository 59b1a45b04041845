import { deliveryId, parseDeliveryId } from '@relay/delivery';
import { type AttemptRecord, uuidBytes, uuidOf } from '@relay/events';
import type { SQLInputValue } from 'node:sqlite';

/**
 * An attempt as the index has it.
 * @property host of the endpoint, if it was known when the attempt was indexed
 */
export type IndexedAttempt = AttemptRecord & { readonly host?: string | undefined };

/** Kinds of names that are stored once and numbered; each is the column of its number. */
export const NAMED = ['webhook', 'partner', 'type', 'host', 'error', 'reason'] as const;
export type Named = (typeof NAMED)[number];

export const OUTCOMES = [
  'delivered',
  'retry',
  'dead-letter',
  'cancelled',
] as const satisfies AttemptRecord['outcome'][];

/** Raised with every change of the tables: a file of another version is thrown away. */
export const VERSION = 2;

/**
 * `id` is the time of the attempt in milliseconds, and 20 bits that tell the attempts of a millisecond apart: every index is in the
 * order of time by that, without a column for it. Times beside it are differences to it, which take a byte or two. Indexes leave
 * out what a search by time finds as soon: nearly all attempts are delivered, with a status of 2xx and without an error.
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
  `PRAGMA user_version = ${VERSION}`,
];

const LATEST = (column: string): string =>
  `coalesce(?, (SELECT ${column} FROM attempts WHERE webhook = ?3 ORDER BY id DESC LIMIT 1))`;

/** Partner and host of a webhook that is gone are those of its attempt before. The first free place of the millisecond. */
export const INSERT_ATTEMPT = `INSERT INTO attempts VALUES (coalesce((SELECT max(id) + 1 FROM attempts WHERE id >= CAST(?1 AS INTEGER) << 20 AND id < (CAST(?1 AS INTEGER) + 1) << 20), CAST(?1 AS INTEGER) << 20), ?2, ?3, ${LATEST('partner').replace('?', '?4')}, ?5, ${LATEST('host').replace('?', '?6')}, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)`;

export const SELECTED = `CAST(id AS TEXT) AS place, id >> 20 AS at, envelope, ${NAMED.join(', ')}, hash, series, accepted, outcome, final, attempt, duration, status, detail, answer, headers, timing, next`;

type Row = Readonly<Record<string, SQLInputValue>>;

/** The names of an attempt, by kind. */
export const namesOf = ({ webhookId, partnerId, eventType, host, error, reason }: IndexedAttempt) =>
  ({ webhook: webhookId, partner: partnerId, type: eventType, host, error, reason }) satisfies Record<
    Named,
    string | undefined
  >;

/**
 * The parameters of `INSERT_ATTEMPT`; undefined for an attempt without the id of a delivery.
 * @param numberOf the number of a name
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

/** The attempt of a row of `SELECTED`. */
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
