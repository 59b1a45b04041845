import { deliveryId } from '@relay/delivery';
import { dlqOf, traceIdOf, type EnvelopeRecord, type LogRecord } from '@relay/events';
import { newJob, NO_WEBHOOK, untilStored } from '@relay/jobs';
import { PublishFailed, type Publisher } from '@relay/publishing';
import type { ThrottledLog } from '@relay/telemetry';
import type { DeadLetter, DeadLetterReason } from './dead-letter.js';

/** Bytes kept of a record that the broker refuses whole. */
const TRUNCATED_BYTES = 65_536;

/** Why an accepted envelope was delivered to no webhook. */
type EnvelopeReason = Extract<DeadLetterReason, 'id_conflict' | 'audience_unknown' | 'handling_failed'>;

/** Stores records that become no deliveries; every call resolves when the record is stored, however long that takes. */
export class RejectedRecords {
  constructor(
    private readonly publisher: Publisher,
    private readonly queue: { addDeadLetter(letter: DeadLetter): Promise<void> },
    private readonly log: ThrottledLog,
    /** Called for each dead letter once it is stored. */
    private readonly added: (eventType: string, reason: EnvelopeReason) => void = () => undefined,
  ) {}

  /**
   * A record that is not an envelope goes to `<topic>.dlq`, with the reason and its origin. If the broker refuses the record, the
   * first 64 KiB of it are stored, without its key and with its length in `relay-truncated`.
   */
  async poison(at: { topic: string; partition: number }, record: LogRecord, reason: string): Promise<void> {
    const origin = { topic: at.topic, partition: at.partition, offset: record.offset };
    this.log.warn(
      'log.poison',
      'A record is not an envelope; it was written to the dead letter topic and reading continues',
      { ...origin, reason },
    );
    const headers = {
      'relay-reason': reason,
      'relay-topic': at.topic,
      'relay-partition': String(at.partition),
      'relay-offset': String(record.offset),
    };
    const topic = dlqOf(at.topic);
    const key = record.key?.toString('utf8') ?? String(record.offset);
    const value = record.value ?? Buffer.alloc(0);
    const put = (): Promise<unknown> =>
      this.publisher.publish({ topic, key, value, headers }).catch((error: unknown) => {
        if (!(error instanceof PublishFailed) || error.retryable) throw error;
        // The record is too large with these headers, or uncompressed. If it were refused for ever, the high water would not
        // advance.
        const cut = { ...headers, 'relay-truncated': String(value.length) };
        const short = { key: String(record.offset), value: value.subarray(0, TRUNCATED_BYTES), headers: cut };
        return this.publisher.publish({ topic, ...short });
      });
    await untilStored(put, this.log, origin);
  }

  /**
   * Turns an accepted envelope without deliveries into one dead letter as a whole: its id was first used with other content,
   * none of its partners exists, or handling it failed. Resolves with a function that stores the dead letter a second time.
   */
  async addDeadLetter(read: EnvelopeRecord, reason: EnvelopeReason, detail: string): Promise<() => Promise<void>> {
    const { envelope } = read;
    const letter = {
      ...newJob({ id: NO_WEBHOOK, partnerId: audienceText(envelope.audience) }, read),
      lastFailure: detail,
      reason,
      diedAt: Date.now(),
    };
    this.log.warn('envelope.dead', 'An accepted envelope was not delivered to anyone; see `relay dead-letters list`', {
      envelopeId: envelope.id,
      eventType: envelope.type,
      traceId: traceIdOf(read.traceparent),
      reason,
      detail,
    });
    const store = (): Promise<void> => this.queue.addDeadLetter(letter);
    await untilStored(store, this.log, { jobId: deliveryId(letter) });
    this.added(envelope.type, reason);
    return store;
  }
}

/** Returns '' for all partners; an audience that names none (`['']`) must not read as all when the dead letter is replayed. */
const audienceText = (audience: readonly string[]): string =>
  audience.length === 0 ? '' : audience.map((partner) => partner || NOBODY).join(',');

const NOBODY = '-';
