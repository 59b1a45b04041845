import { Injectable } from '@nestjs/common';
import { DeadLetter } from '@relay/dead-letters';
import { ATTEMPT_ERRORS, type AttemptResult } from '@relay/delivery';
import { eventTypes } from '@relay/events';
import type { Disposition } from '@relay/retry';
import { Counter, Histogram, Registry } from 'prom-client';

const BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];

/** Metrics of deliveries and attempts, without ids or URLs as labels. */
@Injectable()
export class DeliveryMetrics {
  readonly #deliveries: Counter<'event_type' | 'outcome'>;
  readonly #attempts: Counter<'event_type' | 'status_class' | 'error_type'>;
  readonly #duration: Histogram;
  readonly #endToEnd: Histogram;
  readonly #dedupeHits: Counter;
  readonly #expired: Counter;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#deliveries = new Counter({
      name: 'relay_deliveries_total',
      help: 'Deliveries by what became of an attempt.',
      labelNames: ['event_type', 'outcome'],
      registers,
    });
    this.#attempts = new Counter({
      name: 'relay_delivery_attempts_total',
      help: 'HTTP requests to endpoints.',
      labelNames: ['event_type', 'status_class', 'error_type'],
      registers,
    });
    this.#beginSeries();
    eventTypes.onChange(() => this.#beginSeries());
    this.#duration = new Histogram({
      name: 'relay_delivery_attempt_duration_seconds',
      help: 'Duration of an attempt.',
      buckets: BUCKETS,
      registers,
    });
    this.#endToEnd = new Histogram({
      name: 'relay_end_to_end_latency_seconds',
      help: 'From acceptance to the 2xx of an endpoint, time in the log of a parked webhook included; without replays.',
      buckets: [...BUCKETS, 60, 600, 3_600, 86_400, 345_600],
      registers,
    });
    this.#dedupeHits = new Counter({
      name: 'relay_dedupe_hits_total',
      help: 'Repeated envelopes dropped by the worker.',
      registers,
    });
    this.#expired = new Counter({
      name: 'relay_expired_records_total',
      help: 'Records that the retention or compaction of their topic deleted before they were read, or before a webhook or replay was caught up (once for each), at most.',
      registers,
    });
  }

  /** Creates every series with the value 0. If a series began with its first event, `rate()` would miss that event. */
  #beginSeries(): void {
    for (const event_type of eventTypes.names('known')) {
      for (const outcome of ['delivered', 'retry', 'cancelled', ...DeadLetter.shape.reason.options])
        this.#deliveries.inc({ event_type, outcome }, 0);
      for (const status_class of ['2xx', '3xx', '4xx', '5xx'])
        this.#attempts.inc({ event_type, status_class, error_type: '' }, 0);
      for (const error_type of ATTEMPT_ERRORS) this.#attempts.inc({ event_type, status_class: 'none', error_type }, 0);
    }
  }

  /** @param latencyMs time in ms from acceptance to the end of the attempt; undefined for a replay */
  attempted(eventType: string, result: AttemptResult, decided: Disposition, latencyMs: number | undefined): void {
    this.#attempts.inc({
      event_type: eventType,
      status_class: result.kind === 'answered' ? `${Math.floor(result.status / 100)}xx` : 'none',
      error_type: result.kind === 'failed' ? result.error : '',
    });
    this.#duration.observe(result.durationMs / 1_000);
    this.#deliveries.inc({
      event_type: eventType,
      outcome: decided.kind === 'dead-letter' ? decided.reason : decided.kind,
    });
    if (decided.kind === 'delivered' && latencyMs !== undefined) this.#endToEnd.observe(Math.max(0, latencyMs) / 1_000);
  }

  ended(
    eventType: string,
    outcome: 'cancelled' | 'id_conflict' | 'audience_unknown' | 'handling_failed' | 'horizon_passed',
  ): void {
    this.#deliveries.inc({ event_type: eventType, outcome });
  }

  duplicate(): void {
    this.#dedupeHits.inc();
  }

  expired(records: number): void {
    this.#expired.inc(records);
  }
}
