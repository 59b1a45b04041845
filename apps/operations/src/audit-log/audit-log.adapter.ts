import { Inject, Injectable } from '@nestjs/common';
import { OperationsRecord, operationsTopic } from '@relay/events';
import { answeredWithin, Kafka, KeptAdmin, LogFetcher, rangesWithin } from '@relay/kafka';
import { ProblemError } from '@relay/problem';
import { OPERATIONS_CONFIG, type OperationsConfig } from '@relay/settings';
import {
  type AuditAnswer,
  type AuditQuery,
  type AuditRange,
  type FoundRecord,
  isAsked,
  pageOf,
  rangesBefore,
} from './audit-page.js';

const FETCH_BYTES = 1024 * 1024;
const ANSWER_MS = 7_000;

/** Reads `relay.operations` from its end. */
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
      // The remaining records belong to a transaction that is still open.
      if (part === undefined || part.next <= next) return;
      for (const { offset, value } of part.records) {
        const record = offset < end ? readRecord(value) : undefined;
        if (record !== undefined && isAsked(record, asked)) found.push({ partition, offset, record });
      }
      next = part.next;
    }
  }
}

/** Reads a record; undefined if this release does not know its form. */
function readRecord(value: Buffer | null): OperationsRecord | undefined {
  try {
    return OperationsRecord.safeParse(JSON.parse(String(value))).data;
  } catch {
    return undefined;
  }
}
