import { deliveryId } from '@relay/delivery';
import { dlqOf } from '@relay/events';
import type { LogPartition } from '@relay/progress';
import type { Publisher } from '@relay/publishing';
import { NO_WEBHOOK, type RetryQueue } from '@relay/retry';
import type { ThrottledLog } from '@relay/telemetry';
import type { DeliveryMetrics } from '../delivery/delivery-metrics.js';
import { untilStored } from '../delivery/until-stored.js';
import type { LogRecord, Repeat } from '../log/log-chunk.js';
import type { EnvelopeRecord } from './read-record.js';

/** Where records go that become no deliveries: each resolves when it is stored, however long that takes. */
export class Undeliverable {
  constructor(
    private readonly publisher: Publisher,
    private readonly queue: RetryQueue,
    private readonly metrics: DeliveryMetrics,
    private readonly log: ThrottledLog,
  ) {}

  /** A record that is no envelope: its bytes go to `<topic>.dlq`, with the reason and where it came from. */
  async poison(at: LogPartition, record: LogRecord, reason: string): Promise<void> {
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
    await untilStored(
      () => this.publisher.publish({ topic, key, value: record.value ?? Buffer.alloc(0), headers }),
      this.log,
      origin,
    );
  }

  /**
   * An accepted envelope that was not expanded: its id was first used with other content, or handling it failed. A dead
   * letter of the envelope as a whole, in the same list as the others. Resolves with what stores it once more.
   */
  async bury(read: EnvelopeRecord, reason: 'id_conflict' | 'handling_failed', detail: string): Promise<Repeat> {
    const { envelope, acceptedAt, traceparent } = read;
    const letter = {
      v: 1 as const,
      webhookId: NO_WEBHOOK,
      partnerId: audienceText(envelope.audience),
      envelopeId: envelope.id,
      eventType: envelope.type,
      hash: envelope.contentHash,
      series: 0,
      attempts: 0,
      acceptedAt,
      ...(traceparent === undefined ? {} : { traceparent }),
      lastFailure: detail,
      body: envelope.bytes.toString('utf8'),
      reason,
      diedAt: Date.now(),
    };
    this.log.warn('envelope.dead', 'An accepted envelope was not delivered to anyone; see `relay dead-letters list`', {
      envelopeId: envelope.id,
      eventType: envelope.type,
      reason,
      detail,
    });
    const bury = (): Promise<void> => this.queue.bury(letter);
    await untilStored(bury, this.log, { jobId: deliveryId(letter) });
    this.metrics.ended(envelope.type, reason);
    return bury;
  }
}

/** Empty for everyone; an audience that names nobody (`['']`) must never read like that when the letter is replayed. */
const audienceText = (audience: readonly string[]): string =>
  audience.length === 0 ? '' : audience.map((partner) => partner || NOBODY).join(',');

const NOBODY = '-';
