import { Injectable } from '@nestjs/common';
import { EVENT_TYPES, type EventType } from '@relay/events';
import { Counter, Histogram, Registry } from 'prom-client';
import { BATCH_STATUSES, type BatchResult } from './deliveries.openapi.js';

/** The metrics of the ingress. */
@Injectable()
export class IngressMetrics {
  readonly #events: Counter<'event_type' | 'result'>;
  readonly #publishing: Histogram;

  constructor(registry: Registry) {
    this.#events = new Counter({
      name: 'relay_ingress_events_total',
      help: 'Envelopes received, by event type (unknown where none could be read) and answer.',
      labelNames: ['event_type', 'result'],
      registers: [registry],
    });
    // From 0 on: a series that begins with its first event hides that event from rates.
    for (const event_type of [...EVENT_TYPES, 'unknown'])
      for (const result of BATCH_STATUSES) this.#events.inc({ event_type, result }, 0);
    this.#publishing = new Histogram({
      name: 'relay_publish_duration_seconds',
      help: 'From handing an envelope to the publisher to the acknowledgement of all in-sync replicas.',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers: [registry],
    });
  }

  count(eventType: EventType | 'unknown', result: BatchResult['status']): void {
    this.#events.inc({ event_type: eventType, result });
  }

  /** Starts the measurement of a publish; the returned function ends it. */
  timePublish(): () => void {
    return this.#publishing.startTimer();
  }
}
