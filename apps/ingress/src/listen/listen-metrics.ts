import { Injectable } from '@nestjs/common';
import { EVENT_TYPES, STREAM_ENDS, type EventType, type StreamEnd } from '@relay/events';
import { Counter, Gauge, Registry } from 'prom-client';

/** How the streams of a process stand. */
interface StreamFigures {
  readonly open: number;
  /** Records that the stream furthest behind has not passed yet. */
  readonly behind: number;
}

/** The metrics of `GET /listen`, without partners as labels. */
@Injectable()
export class ListenMetrics {
  readonly #events: Counter<'event_type'>;
  readonly #ends: Counter<'reason'>;

  constructor(private readonly registry: Registry) {
    this.#events = new Counter({
      name: 'relay_listen_events_total',
      help: 'Envelopes written to streams of GET /listen, once for each stream.',
      labelNames: ['event_type'],
      registers: [registry],
    });
    this.#ends = new Counter({
      name: 'relay_listen_ends_total',
      help: 'Streams of GET /listen that ended, by the reason they were told; left: the client or its connection went away.',
      labelNames: ['reason'],
      registers: [registry],
    });
    for (const event_type of EVENT_TYPES) this.#events.inc({ event_type }, 0);
    for (const reason of [...Object.keys(STREAM_ENDS), 'left']) this.#ends.inc({ reason }, 0);
  }

  sent(type: EventType): void {
    this.#events.inc({ event_type: type });
  }

  ended(reason: StreamEnd | 'left'): void {
    this.#ends.inc({ reason });
  }

  /** Registers the gauges, which ask at each scrape. */
  watch(figures: () => StreamFigures): void {
    const gauge = (name: string, help: string, value: (now: StreamFigures) => number): void =>
      this.registry.registerMetric(
        new Gauge({
          name,
          help,
          registers: [],
          collect() {
            this.set(value(figures()));
          },
        }),
      );
    gauge('relay_listen_streams', 'Open streams of GET /listen of this process.', ({ open }) => open);
    gauge(
      'relay_listen_behind_records',
      'Records of the log that the stream furthest behind has not passed, by what this process read last.',
      ({ behind }) => behind,
    );
  }
}
