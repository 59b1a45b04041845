import { Inject, Injectable } from '@nestjs/common';
import type { RepeatCounter, SeenEntry, SeenMark, SeenStore } from '@relay/dedupe';
import { eventTypes, recordHeaders, topicOf, type AcceptedEnvelope, type EnvelopeType } from '@relay/events';
import { Publisher } from '@relay/publishing';
import { INGRESS_CONFIG, type IngressConfig } from '@relay/settings';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import { Counter, Histogram, Registry } from 'prom-client';
import { BATCH_STATUSES, type BatchResult } from './deliveries.openapi.js';

// Nest reads the constructor types of a class when the class is defined. So the classes that Acceptance needs come before
// it.

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
    this.#beginSeries();
    eventTypes.onChange(() => this.#beginSeries());
    this.#publishing = new Histogram({
      name: 'relay_publish_duration_seconds',
      help: 'From handing an envelope to the publisher to the acknowledgement of all in-sync replicas.',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers: [registry],
    });
  }

  /** Begins every series with 0. Otherwise a rate over a series misses the first event of the series. */
  #beginSeries(): void {
    for (const event_type of [...eventTypes.names('sendable'), 'unknown'])
      for (const result of BATCH_STATUSES) this.#events.inc({ event_type, result }, 0);
  }

  count(eventType: EnvelopeType, result: BatchResult['status']): void {
    this.#events.inc({ event_type: eventType, result });
  }

  /** Starts the measurement of a publish. The returned function ends the measurement. */
  timePublish(): () => void {
    return this.#publishing.startTimer();
  }
}

const MAX_ITEMS = 200;
/**
 * How long marks gather before they are written, in ms. They gather because each write costs Redis an fsync. Repeats that
 * arrive meanwhile are found by the flights of `Acceptance`.
 */
const GATHER_MARKS_MS = 50;
/**
 * Maximum number of marks that wait for a slow store. Further marks are dropped, because the worker also detects repeats.
 */
const MAX_WAITING_MARKS = 20_000;

/**
 * Reads and writes seen marks in batches, without blocking the acceptance. If the store fails or does not answer in time,
 * the ids count as new. While a look-up hangs, further look-ups do not wait for the store, and their ids count as new too.
 */
export class RememberedIds {
  readonly #finds: MicroBatch<string, SeenMark>;
  readonly #marks: MicroBatch<SeenEntry, never>;
  #isHanging = false;

  constructor(
    private readonly store: SeenStore,
    private readonly log: ThrottledLog,
    private readonly repeats: Pick<RepeatCounter, 'count'>,
    private readonly waitMs = 250,
  ) {
    this.#finds = new MicroBatch((ids) => this.#find(ids), MAX_ITEMS);
    this.#marks = new MicroBatch((entries) => this.#mark(entries), MAX_ITEMS, GATHER_MARKS_MS);
  }

  find(id: string): Promise<SeenMark | undefined> {
    return this.#isHanging ? Promise.resolve(undefined) : this.#finds.add(id);
  }

  repeated(id: string, kind: 'duplicate' | 'conflict'): void {
    this.repeats.count(id, kind);
  }

  /** Resolves when the mark is written or its write has failed. A failure is only logged. */
  async markPublished(entry: SeenEntry): Promise<void> {
    if (this.#marks.size < MAX_WAITING_MARKS) await this.#marks.add(entry);
  }

  async #find(ids: readonly string[]): Promise<readonly (SeenMark | undefined)[]> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<readonly undefined[]>((resolve) => {
      timer = setTimeout(() => {
        this.#isHanging = true;
        resolve([]);
      }, this.waitMs);
    });
    const found = this.store
      .find(ids)
      .catch((error: unknown) => this.#away(error))
      .finally(() => {
        clearTimeout(timer);
        this.#isHanging = false;
      });
    return Promise.race([found, late]);
  }

  async #mark(entries: readonly SeenEntry[]): Promise<[]> {
    await this.store.markPublished(entries).catch((error: unknown) => this.#away(error));
    return [];
  }

  #away(error: unknown): [] {
    this.log.warn('seen.away', 'Seen marks cannot be read or written; envelopes are accepted without them', {
      reason: reasonOf(error),
    });
    return [];
  }
}

interface Waiting<In, Out> {
  readonly item: In;
  readonly resolve: (out: Out | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Combines single calls into batches. One batch runs at a time. Items that arrive meanwhile form the next batch, so batches
 * grow with the load. `run` returns its answers in the order of its items, with undefined for an item that has no answer.
 */
class MicroBatch<In, Out> {
  #waiting: Waiting<In, Out>[] = [];
  #isRunning = false;

  constructor(
    private readonly run: (items: readonly In[]) => Promise<readonly (Out | undefined)[]>,
    private readonly maxItems: number,
    /** How long items gather before a batch, in ms. If undefined, a batch does not wait for a timer. */
    private readonly gatherMs?: number,
  ) {}

  get size(): number {
    return this.#waiting.length;
  }

  add(item: In): Promise<Out | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (this.#isRunning) return;
      this.#isRunning = true;
      void this.#drain();
    });
  }

  #gathered(): Promise<void> {
    return new Promise((resolve) => {
      // Items that are added in the same turn of the event loop join the batch.
      if (this.gatherMs === undefined) setImmediate(resolve);
      else setTimeout(resolve, this.gatherMs);
    });
  }

  async #drain(): Promise<void> {
    await this.#gathered();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.maxItems);
      try {
        const answers = await this.run(batch.map((waiting) => waiting.item));
        for (const [index, waiting] of batch.entries()) waiting.resolve(answers[index]);
      } catch (error) {
        for (const waiting of batch) waiting.reject(error);
      }
      if (this.gatherMs !== undefined && this.#waiting.length < this.maxItems) await this.#gathered();
    }
    this.#isRunning = false;
  }
}

/**
 * `accepted`: the envelope was stored now. `duplicate`: an envelope with this id and content is already stored. `conflict`:
 * an envelope with this id and other content is already stored.
 */
export type Verdict = 'accepted' | 'duplicate' | 'conflict';

/** The sender of an envelope, and its trace. */
export interface EnvelopeSender {
  readonly clientId: string;
  readonly traceparent: string;
}

interface Flight {
  readonly hash: string;
  readonly verdict: Promise<Verdict>;
}

/**
 * Checks whether an envelope is a repeat, and appends it to the log. The first envelope with an id opens a flight in this
 * process, and envelopes with the same id join the flight while it lasts. Only the first envelope is published, and the
 * others get their answers after its acknowledgement, so a hundred parallel posts make one record. A flight lasts until the
 * seen mark of its envelope is written or has failed, so a repeat right after the answer finds the flight or the mark.
 *
 * If two processes accept the same id, or Redis does not answer, the log can get a second record of the id. The worker drops
 * that record, because the first record of an id wins.
 */
@Injectable()
export class Acceptance {
  readonly #flights = new Map<string, Flight>();

  constructor(
    private readonly publisher: Publisher,
    private readonly remembered: RememberedIds,
    private readonly metrics: IngressMetrics,
    @Inject(INGRESS_CONFIG) private readonly config: Pick<IngressConfig, 'KAFKA_TOPIC_PREFIX' | 'PUBLIC_URL'>,
  ) {}

  /** @throws PublishFailed if the log sends no acknowledgement. The record may have been stored even then */
  async accept(envelope: AcceptedEnvelope, sender: EnvelopeSender): Promise<Verdict> {
    const verdict = await this.#accept(envelope, sender);
    if (verdict !== 'accepted') this.remembered.repeated(envelope.id, verdict);
    return verdict;
  }

  async #accept(envelope: AcceptedEnvelope, sender: EnvelopeSender): Promise<Verdict> {
    for (;;) {
      const flight = this.#flights.get(envelope.id);
      if (flight === undefined) return this.#depart(envelope, sender);
      if (flight.hash === envelope.contentHash) {
        const verdict = await flight.verdict;
        return verdict === 'accepted' ? 'duplicate' : verdict;
      }
      // An envelope with this id and other content is being published. If its flight fails or ends as a conflict, it stored
      // nothing, so this envelope is checked again.
      const verdict = await flight.verdict.catch(() => 'conflict');
      if (verdict !== 'conflict') return 'conflict';
    }
  }

  #depart(envelope: AcceptedEnvelope, sender: EnvelopeSender): Promise<Verdict> {
    const { id, contentHash: hash } = envelope;
    const verdict = this.#decide(envelope, sender).then(
      (decided) => {
        if (decided === 'accepted')
          void this.remembered.markPublished({ id, hash }).then(() => this.#flights.delete(id));
        else this.#flights.delete(id);
        return decided;
      },
      (error: unknown) => {
        this.#flights.delete(id);
        throw error;
      },
    );
    this.#flights.set(id, { hash, verdict });
    return verdict;
  }

  async #decide(envelope: AcceptedEnvelope, sender: EnvelopeSender): Promise<Verdict> {
    const mark = await this.remembered.find(envelope.id);
    if (mark !== undefined) return mark.hash === envelope.contentHash ? 'duplicate' : 'conflict';
    const published = this.metrics.timePublish();
    await this.publisher.publish({
      topic: topicOf(this.config.KAFKA_TOPIC_PREFIX, envelope.type),
      key: envelope.key,
      value: envelope.bytes,
      headers: recordHeaders({
        envelope,
        source: sender.clientId,
        ceSource: this.config.PUBLIC_URL,
        acceptedAt: Date.now(),
        traceparent: sender.traceparent,
      }),
    });
    published();
    return 'accepted';
  }
}
