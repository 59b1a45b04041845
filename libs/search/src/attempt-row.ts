import { deliveryId, parseDeliveryId } from '@relay/delivery';
import { type AttemptRecord, uuidBytes, uuidOf } from '@relay/events';
import type { SQLInputValue } from 'node:sqlite';

/** An attempt as the index has it. @property host of the endpoint, where it was known when the attempt was indexed */
export type IndexedAttempt = AttemptRecord & { readonly host?: string | undefined };

/** What is stored once and numbered: its kind, and the column with its number. */
export const NAMED = ['webhook', 'partner', 'type', 'host', 'error', 'reason'] as const;
export type Named = (typeof NAMED)[number];

export const OUTCOMES = [
  'delivered',
  'retry',
  'dead-letter',
  'cancelled',
] as const satisfies AttemptRecord['outcome'][];

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
