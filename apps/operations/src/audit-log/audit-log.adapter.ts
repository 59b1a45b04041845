import { Inject, Injectable } from '@nestjs/common';
import { OPERATIONS_EVENTS, OperationsRecord, operationsTopic } from '@relay/events';
import { answeredWithin, Kafka, KeptAdmin, LogFetcher, rangesWithin } from '@relay/kafka';
import { ProblemError } from '@relay/problem';
import { OPERATIONS_CONFIG, type OperationsConfig } from '@relay/settings';
import { z } from 'zod';

export const AuditQuery = z.strictObject({
  event: z.enum(OPERATIONS_EVENTS).optional().describe('Only this event.'),
  operator: z
    .string()
    .max(500)
    .optional()
    .describe('Only of this operator, or command. A person is found by `person:` and subject too.'),
  partner: z.string().max(100).optional().describe('Only of this partner.'),
  webhook: z.string().max(100).optional().describe('Only of this webhook.'),
  until: z.iso.datetime({ offset: true }).optional().describe('Only records written before this time.'),
  before: z
    .string()
    .regex(/^\d{1,6}:\d{1,16}(?:,\d{1,6}:\d{1,16})*$/, 'the `before` of an answer is expected')
    .max(300)
    .optional()
    .describe('Only older records than an answer has looked at, as it named them.'),
  limit: z.coerce.number().int().min(1).max(200).default(50).describe('Longest list: 1 to 200.'),
});
export type AuditQuery = z.infer<typeof AuditQuery>;

export const AuditAnswer = z
  .object({
    records: z.array(OperationsRecord),
    before: z
      .string()
      .nullable()
      .describe('The same request with it looks at older records; `null` when there are none.'),
  })
  .meta({ id: 'AuditRecords', description: 'Records of `relay.operations`, newest first.' });
export type AuditAnswer = z.infer<typeof AuditAnswer>;

/** Offsets `[from, end)` of a partition that are read for an answer. `low` is the oldest offset in Kafka. */
interface AuditRange {
  readonly partition: number;
  readonly low: number;
  readonly from: number;
  readonly end: number;
}

/** A record that matches the filter. */
interface FoundRecord {
  readonly partition: number;
  readonly offset: number;
  readonly record: OperationsRecord;
}

/** Maximum number of records that are read for one answer. */
const MOST_LOOKED_AT = 5_000;

/** Returns the newest offsets before `before`, with an equal share for each partition. */
export function rangesBefore(
  kept: readonly { readonly partition: number; readonly from: number; readonly end: number }[],
  before: string | undefined,
): AuditRange[] {
  const ends = new Map(before?.split(',').map((part) => part.split(':').map(Number) as [number, number]));
  const share = Math.floor(MOST_LOOKED_AT / Math.max(1, kept.length));
  return kept.map(({ partition, from: low, end: high }) => {
    const end = Math.max(low, Math.min(high, ends.get(partition) ?? high));
    return { partition, low, from: Math.max(low, end - share), end };
  });
}

export const isAsked = (record: OperationsRecord, { event, operator, partner, webhook }: AuditQuery): boolean =>
  (event === undefined || record.event === event) &&
  (operator === undefined || isBy(record, operator)) &&
  (partner === undefined || record.partnerId === partner) &&
  (webhook === undefined || isAbout(record, webhook.toLowerCase()));

const isBy = ({ operator }: OperationsRecord, asked: string): boolean =>
  operator === asked || (asked.startsWith('person:') && operator?.startsWith(`${asked} `) === true);

const isAbout = ({ webhookId, webhookIds }: OperationsRecord, webhook: string): boolean =>
  webhookId === webhook || webhookIds?.includes(webhook) === true;

/** Returns the newest of the found records. `before` contains the offsets below which the older records are. */
export function pageOf(ranges: readonly AuditRange[], found: readonly FoundRecord[], limit: number): AuditAnswer {
  const newest = found.toSorted((a, b) =>
    a.partition === b.partition ? b.offset - a.offset : a.record.at < b.record.at ? 1 : -1,
  );
  const shown = newest.slice(0, limit);
  const left = newest.slice(limit);
  const older = ranges.map(({ partition, low, from }) => {
    // The next page begins with records that were found but are not shown.
    const next = left.filter((each) => each.partition === partition).map(({ offset }) => offset + 1);
    return { partition, low, end: Math.max(from, ...next) };
  });
  return {
    records: shown.map(({ record }) => record),
    before: older.some(({ low, end }) => end > low)
      ? older.map(({ partition, end }) => `${partition}:${end}`).join(',')
      : null,
  };
}

const FETCH_BYTES = 1024 * 1024;
const ANSWER_MS = 7_000;

/** Reads the newest records of `relay.operations`. */
@Injectable()
export class AuditLog {
  readonly #topic: string;
  readonly #fetcher: LogFetcher;

  constructor(
    kafka: Kafka,
    private readonly admin: KeptAdmin,
    @Inject(OPERATIONS_CONFIG) { KAFKA_TOPIC_PREFIX }: OperationsConfig,
  ) {
    this.#topic = operationsTopic(KAFKA_TOPIC_PREFIX);
    this.#fetcher = new LogFetcher(kafka);
  }

  /** @throws ProblemError `unavailable` if Kafka does not answer */
  async read(asked: AuditQuery): Promise<AuditAnswer> {
    try {
      return await answeredWithin(ANSWER_MS, this.#read(asked));
    } catch (cause) {
      throw new ProblemError('unavailable', 'Kafka does not answer at the moment.', {
        headers: { 'retry-after': '2' },
        cause,
      });
    }
  }

  async #read(asked: AuditQuery): Promise<AuditAnswer> {
    const until = asked.until === undefined ? undefined : Date.parse(asked.until);
    const kept = await this.admin.ask((admin) => rangesWithin(admin, this.#topic, { since: undefined, until }));
    const ranges = rangesBefore(kept, asked.before);
    const found: FoundRecord[] = [];
    for (const range of ranges) await this.#readRange(range, asked, found);
    return pageOf(ranges, found, asked.limit);
  }

  async #readRange({ partition, from, end }: AuditRange, asked: AuditQuery, found: FoundRecord[]): Promise<void> {
    for (let next = from; next < end;) {
      const [part] = await this.#fetcher.fetch(this.#topic, new Map([[partition, next]]), {
        maxBytes: FETCH_BYTES,
        waitMs: 0,
      });
      // If the answer has no further records, the remaining ones belong to a transaction that is still open.
      if (part === undefined || part.next <= next) return;
      for (const { offset, value } of part.records) {
        const record = offset < end ? readRecord(value) : undefined;
        if (record !== undefined && isAsked(record, asked)) found.push({ partition, offset, record });
      }
      next = part.next;
    }
  }
}

/** Parses a record; undefined if this release does not know the form of the record. */
function readRecord(value: Buffer | null): OperationsRecord | undefined {
  try {
    return OperationsRecord.safeParse(JSON.parse(String(value))).data;
  } catch {
    return undefined;
  }
}
