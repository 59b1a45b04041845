import type { Tracing } from '@relay/telemetry';
import { Publisher, PublishFailed, type OutgoingRecord } from './publisher.port.js';

/** Adds a span for each record that belongs to a trace; the record's headers name that span to its readers. */
export class TracedPublisher extends Publisher {
  constructor(
    private readonly publisher: Publisher,
    private readonly tracing: Tracing,
  ) {
    super();
  }

  get state(): string {
    return this.publisher.state;
  }

  async publish(record: OutgoingRecord): Promise<number | undefined> {
    const { traceparent, ce_id: id = '', ce_type: type = '' } = record.headers;
    if (traceparent === undefined) return this.publisher.publish(record);
    const span = this.tracing.start(`send ${record.topic}`, 'producer', traceparent, {
      'messaging.system': 'kafka',
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
      'messaging.destination.name': record.topic,
      'messaging.message.id': id,
      'relay.event_type': type,
    });
    try {
      const headers = { ...record.headers, traceparent: span.traceparent };
      const offset = await this.publisher.publish({ ...record, headers });
      span.end();
      return offset;
    } catch (error) {
      span.end({}, error instanceof PublishFailed ? error.reason : 'unknown');
      throw error;
    }
  }

  learn(topics: readonly string[]): Promise<void> {
    return this.publisher.learn(topics);
  }

  override belongsTo(cluster: string | null): void {
    this.publisher.belongsTo(cluster);
  }

  close(): Promise<void> {
    return this.publisher.close();
  }
}
