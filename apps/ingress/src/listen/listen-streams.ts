import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { eventTypes, STREAM_ENDS, topicOf, type EnvelopeType, type StreamEnd } from '@relay/events';
import { LogFetcher } from '@relay/kafka';
import { ProblemError } from '@relay/problem';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { ThrottledLog } from '@relay/telemetry';
import { Counter, Gauge, Registry } from 'prom-client';
import { ListenReader } from './listen-reader.js';
import {
  MAX_POSITION,
  Listener,
  madeAnew,
  resumed,
  StreamKeys,
  type Position,
  type StreamPlace,
  type ToldPosition,
} from './listener.js';

/** The metrics of `GET /listen`. They have no label for the partner. */
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
    this.#beginSeries();
    eventTypes.onChange(() => this.#beginSeries());
    for (const reason of [...Object.keys(STREAM_ENDS), 'left']) this.#ends.inc({ reason }, 0);
  }

  #beginSeries(): void {
    for (const event_type of eventTypes.names('sendable')) this.#events.inc({ event_type }, 0);
  }

  sent(type: EnvelopeType): void {
    this.#events.inc({ event_type: type });
  }

  ended(reason: StreamEnd | 'left'): void {
    this.#ends.inc({ reason });
  }

  /**
   * Registers the gauges. They get their values at each scrape.
   * @param behind returns how many records the stream that is furthest behind has not passed yet
   */
  watch(open: () => number, behind: () => number): void {
    const gauge = (name: string, help: string, value: () => number): void => {
      const collect = function (this: Gauge): void {
        this.set(value());
      };
      this.registry.registerMetric(new Gauge({ name, help, registers: [], collect }));
    };
    gauge('relay_listen_streams', 'Open streams of GET /listen of this process.', open);
    gauge(
      'relay_listen_behind_records',
      'Records of the log that the stream furthest behind has not passed, by what this process read last.',
      behind,
    );
  }
}

/** Maximum number of streams of a partner. If a partner opens a further stream, its oldest stream ends. */
const STREAMS_OF_PARTNER = 2;
const LOOK_MS = 1_000;
/**
 * How long connections to brokers stay open after the last stream, in ms. Otherwise a client that reconnects would cause new
 * connections each time.
 */
const KEPT_MS = 30_000;

/**
 * A request for a stream. The stream begins at the end of the log, or at `told`, which is the position of an earlier stream.
 */
interface Listening {
  readonly partnerId: string;
  readonly types: readonly EnvelopeType[];
  readonly told: ToldPosition | undefined;
  readonly isPermitted: () => Promise<boolean>;
}

/** The streams of a process. Without streams, nothing is read, and the connections to brokers are closed after KEPT_MS. */
@Injectable()
export class ListenStreams implements OnModuleDestroy {
  readonly #listeners = new Set<Listener>();
  readonly #reader: ListenReader;
  #looking: NodeJS.Timeout | undefined;
  #closing: NodeJS.Timeout | undefined;
  #opening = 0;
  #isClosing = false;

  constructor(
    private readonly log: LogFetcher,
    private readonly keys: StreamKeys,
    @Inject(INGRESS_CONFIG) private readonly limits: IngressConfig,
    lines: ThrottledLog,
    private readonly metrics: ListenMetrics,
  ) {
    this.#reader = new ListenReader(log, this.#listeners, limits.KAFKA_TOPIC_PREFIX, lines, metrics);
    metrics.watch(
      () => this.#listeners.size,
      () => this.#reader.behind,
    );
  }

  /**
   * @throws ProblemError `unavailable` if Kafka does not answer, the process stops, or the process has its maximum of
   * streams
   */
  async open({ partnerId, types, told, isPermitted }: Listening): Promise<Listener> {
    this.#opening += 1;
    try {
      // Check before the brokers are asked, and again afterwards, because other streams may open meanwhile.
      this.#checkRoom(partnerId);
      const start = await this.#start(types, told);
      this.#checkRoom(partnerId);
      // Offsets get longer while the stream is open.
      if (this.keys.sealed(partnerId, { at: Date.now(), ...start }).length > MAX_POSITION * 0.9)
        throw new ProblemError(
          'invalid-request',
          `A stream cannot follow ${types.length} event types with this many partitions. Choose fewer with the parameter type.`,
        );
      this.#makeRoom(partnerId);
      const listener = new Listener(partnerId, start, this.keys, isPermitted);
      listener.open(start.isWhole ? undefined : told?.at);
      this.#add(listener);
      return listener;
    } finally {
      this.#opening -= 1;
      this.#rest();
    }
  }

  /** Ends all streams. Nest calls this before it closes the HTTP server, which otherwise waits for the streams. */
  async onModuleDestroy(): Promise<void> {
    this.#isClosing = true;
    for (const listener of this.#listeners) listener.end('stopping');
    this.#listeners.clear();
    clearInterval(this.#looking);
    clearTimeout(this.#closing);
    await this.log.close();
  }

  async #start(
    types: readonly EnvelopeType[],
    told: ToldPosition | undefined,
  ): Promise<StreamPlace & { readonly isWhole: boolean }> {
    try {
      // The ids are read before the offsets. If a topic is created again in between, its old id shows the change later.
      const topicIds = await this.#reader.topicIds(types);
      const end = await this.#bounds(types, 'end');
      if (told === undefined) return { position: end, topicIds, isWhole: true };
      if (madeAnew(told.topicIds, topicIds).length > 0) return { position: end, topicIds, isWhole: false };
      return { ...resumed(told.position, await this.#bounds(types, 'first'), end), topicIds };
    } catch (error) {
      throw unavailable('The log does not answer at the moment.', 2, error);
    }
  }

  async #bounds(types: readonly EnvelopeType[], which: 'first' | 'end'): Promise<Position> {
    const topics = new Map(types.map((type) => [topicOf(this.limits.KAFKA_TOPIC_PREFIX, type), type]));
    const found = await this.log.bounds([...topics.keys()], which);
    return new Map([...topics].map(([topic, type]) => [type, found.get(topic) ?? []]));
  }

  #checkRoom(partnerId: string): void {
    if (this.#isClosing) throw unavailable('This process of the relay stops.', 2);
    const { size } = this.#listeners;
    if (size < this.limits.LISTEN_STREAMS || hasAll(this.#of(partnerId))) return;
    throw unavailable('This process of the relay has as many streams as it takes.', 10);
  }

  /**
   * Ends the partner's oldest stream if the partner has too many. Its client may have left without closing the connection.
   */
  #makeRoom(partnerId: string): void {
    const own = this.#of(partnerId);
    const [oldest] = own;
    if (oldest === undefined || !hasAll(own)) return;
    oldest.end('replaced');
    this.#listeners.delete(oldest);
  }

  #of(partnerId: string): readonly Listener[] {
    return [...this.#listeners].filter((listener) => listener.partnerId === partnerId);
  }

  #add(listener: Listener): void {
    this.#listeners.add(listener);
    listener.stream.once('close', () => {
      this.#listeners.delete(listener);
      this.metrics.ended(listener.endedBy ?? 'left');
    });
    this.#looking ??= setInterval(() => void this.#look(), LOOK_MS).unref();
    void this.#reader.run().then(() => this.#rest());
  }

  async #look(): Promise<void> {
    for (const listener of this.#listeners) {
      listener.look();
      if (!(await listener.isPermitted())) listener.end('token');
    }
  }

  #rest(): void {
    if (this.#isUsed) return;
    clearInterval(this.#looking);
    this.#looking = undefined;
    this.#closing ??= setTimeout(() => {
      this.#closing = undefined;
      if (!this.#isUsed) void this.log.close();
    }, KEPT_MS).unref();
  }

  get #isUsed(): boolean {
    return this.#listeners.size > 0 || this.#opening > 0;
  }
}

const hasAll = (own: readonly Listener[]): boolean => own.length >= STREAMS_OF_PARTNER;

const unavailable = (detail: string, retryS: number, cause?: unknown): ProblemError =>
  new ProblemError('unavailable', detail, { headers: { 'retry-after': String(retryS) }, cause });
