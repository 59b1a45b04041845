import { deliveryId } from '@relay/delivery';
import { dlqOf, traceIdOf, type EnvelopeRecord, type LogRecord } from '@relay/events';
import { newJob, NO_WEBHOOK, untilStored } from '@relay/jobs';
import { PublishFailed, type Publisher } from '@relay/publishing';
import type { ThrottledLog } from '@relay/telemetry';
import type { DeadLetterQueue } from './dead-letter-queue.port.js';
import type { DeadLetterReason } from './dead-letter.js';

/** What is kept of a record that the broker refuses whole; an envelope is never longer than 256 KiB. */
const TRUNCATED_BYTES = 65_536;

/** Why no webhook got an accepted envelope. */
type EnvelopeReason = Extract<DeadLetterReason, 'id_conflict' | 'handling_failed'>;

/** Where records go that become no deliveries: each resolves when it is stored, however long that takes. */
export class Undeliverable {
  constructor(
    private readonly publisher: Publisher,
    private readonly queue: DeadLetterQueue,
    private readonly log: ThrottledLog,
    /** Told of each dead letter once it is stored. */
    private readonly buried: (eventType: string, reason: EnvelopeReason) => void = () => undefined,
  ) {}

  /**
   * A record that is no envelope: its bytes go to `<topic>.dlq`, with the reason and where it came from. Of one that the broker
   * refuses only the first 64 KiB, without its key and with its length in `relay-truncated`.
   */
  async poison(at: { topic: string; partition: number }, record: LogRecord, reason: string): Promise<void> {
    const origin = { topic: at.topic, partition: at.partition, offset: record.offset };
    this.log.warn(
      'log.poison',
      'A record is no envelope; it was put aside in the dead letter topic and reading goes on',
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
        // Too large with these headers, or unpacked: it would be refused for ever and hold the high water where it is.
        const cut = { ...headers, 'relay-truncated': String(value.length) };
        const short = { key: String(record.offset), value: value.subarray(0, TRUNCATED_BYTES), headers: cut };
        return this.publisher.publish({ topic, ...short });
      });
    await untilStored(put, this.log, origin);
  }

  /**
   * An accepted envelope that was not expanded: its id was first used with other content, or handling it failed. A dead
   * letter of the envelope as a whole, in the same list as the others. Resolves with what stores it once more.
   */
  async bury(read: EnvelopeRecord, reason: EnvelopeReason, detail: string): Promise<() => Promise<void>> {
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
    const bury = (): Promise<void> => this.queue.bury(letter);
    await untilStored(bury, this.log, { jobId: deliveryId(letter) });
    this.buried(envelope.type, reason);
    return bury;
  }
}

/** Empty for everyone; an audience that names nobody (`['']`) must never read like that when the letter is replayed. */
const audienceText = (audience: readonly string[]): string =>
  audience.length === 0 ? '' : audience.map((partner) => partner || NOBODY).join(',');

const NOBODY = '-';
