import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { eventTypes, isNoticeType, readRecord, topicOf, type EnvelopeType } from '@relay/events';
import { placeOutside, type LogFetcher, type LogPlace, type LogSlice } from '@relay/kafka';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import { madeAnew, MOST_BEHIND, type Listener } from './listener.js';

/**
 * Maximum distance in records at which listeners that are behind share reads. The reads begin at the offset of the listener
 * that is furthest behind.
 */
const TOGETHER = 500;

/** A place in the log, with the event type of its topic. */
export interface Place extends LogPlace {
  readonly type: EnvelopeType;
}

type Reader = Pick<Listener, 'nextOf'>;

/** Returns how many records the listener still has to pass until it reaches these places. */
export const lagOf = (listener: Reader, head: readonly Place[]): number =>
  head.reduce((sum, { type, partition, offset }) => {
    const next = listener.nextOf(type, partition) ?? offset;
    return sum + Math.max(0, offset - next);
  }, 0);

/**
 * Returns one place in each partition from which to read for listeners that are behind the head. The head is the furthest
 * place of any listener. Listeners that are close together form a group and share a place. The groups take turns, so no
 * listener has to wait for a listener that is far behind. The first partition also changes with each turn, because a broker
 * fills its answer in the order of the request.
 */
export function placesBehind(listeners: readonly Reader[], head: readonly Place[], turn: number): Place[] {
  const places = head.flatMap((place): Place[] => {
    const begins = beginsOf(
      listeners.flatMap((each) => each.nextOf(place.type, place.partition) ?? []),
      place.offset,
    );
    const offset = begins[turn % begins.length];
    return offset === undefined ? [] : [{ ...place, offset }];
  });
  const first = turn % Math.max(1, places.length);
  return [...places.slice(first), ...places.slice(0, first)];
}

/** Divides the offsets below the end into groups of close offsets. Returns the lowest offset of each group. */
function beginsOf(offsets: readonly number[], end: number): readonly number[] {
  const begins: number[] = [];
  for (const offset of offsets.filter((each) => each < end).toSorted((a, b) => a - b))
    if (offset - (begins.at(-1) ?? -Infinity) > TOGETHER) begins.push(offset);
  return begins;
}

/** How long a read waits for a new record, in ms. A new listener waits at most this time for its first read. */
const WAIT_MS = 250;
const PAUSE_MS = 500;
/** Pause between two reads at the head, in ms. During the pause, records gather, so the next read takes them together. */
const PACE_MS = 20;
/**
 * Pause between two reads while a listener is behind, in ms. Without the pause, a slow client that takes 64 KiB at a time
 * causes reads all the time.
 */
const PACE_BEHIND_MS = 5;
/**
 * A stream that is this many records behind the head ends. A resumed stream may begin MOST_BEHIND records behind the head,
 * and the head moves on, so this limit is higher.
 */
const CUT_BEHIND = 2 * MOST_BEHIND;
/** Maximum bytes of a broker's answer. It is limited because the driver decodes an answer in one turn of the event loop. */
const MAX_BYTES = 1024 * 1024;
/**
 * Maximum bytes of an answer for listeners that are behind. It is smaller than MAX_BYTES because a slow stream drops most of
 * a larger answer.
 */
const MAX_BYTES_BEHIND = 256 * 1024;
/** How often the reader checks whether topics were created again, in ms. */
const LOOK_MS = 3_000;
/** Number of records and events in one turn of the event loop. It is small because posted envelopes need turns too. */
const STEPS_OF_A_TURN = 50;

/** Reads the log for all listeners of a process. It runs only while there are listeners. */
export class ListenReader {
  #types: ReadonlyMap<string, EnvelopeType> = new Map();
  #isRunning = false;
  /** The end of each partition that was read, by topic and partition. */
  readonly #ends = new Map<string, Place>();
  #rounds = 0;
  #lookedAt = 0;
  #steps = 0;

  constructor(
    private readonly fetcher: Pick<LogFetcher, 'partitions' | 'fetchAll' | 'topicIds'>,
    private readonly listeners: ReadonlySet<Listener>,
    private readonly prefix: string,
    private readonly log: ThrottledLog,
    private readonly metrics: { sent(type: EnvelopeType): void },
  ) {
    this.#learn();
    eventTypes.onChange(() => this.#learn());
  }

  /** Maps the topics of all known event types, including archived event types. */
  #learn(): void {
    const types = eventTypes.names('known').filter((type) => !isNoticeType(type));
    this.#types = new Map(types.map((type) => [topicOf(this.prefix, type), type]));
  }

  /** Reads until there is no listener left, then resolves. If another call already reads, it resolves at once. */
  async run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#ends.clear();
    while (this.listeners.size > 0)
      try {
        await this.#round();
      } catch (error) {
        if (this.listeners.size === 0) break;
        const outside = placeOutside(error);
        if (outside !== undefined) this.#lose(outside);
        else {
          this.log.warn('listen.waiting', 'Kafka does not answer; streams of partners wait for it', {
            reason: reasonOf(error),
          });
          await delay(PAUSE_MS);
        }
      }
    this.#isRunning = false;
  }

  /** How many records the stream that is furthest behind has not passed, according to the last answers of the brokers. */
  get behind(): number {
    const ends = [...this.#ends.values()];
    return Math.max(0, ...[...this.listeners].map((listener) => lagOf(listener, ends)));
  }

  /** Returns the ids of the topics of these types. */
  async topicIds(types: readonly EnvelopeType[]): Promise<Map<EnvelopeType, string>> {
    const found = await this.fetcher.topicIds(types.map((type) => topicOf(this.prefix, type)));
    return new Map(
      [...found].flatMap(([topic, id]) => (id === undefined ? [] : [[this.#types.get(topic) as EnvelopeType, id]])),
    );
  }

  /** Ends the streams whose topics were deleted and created again, because their offsets belong to a log that is gone. */
  async #look(): Promise<void> {
    this.#lookedAt = performance.now();
    const now = await this.topicIds([...this.#types.values()]);
    for (const listener of this.listeners) if (madeAnew(listener.topicIds, now).length > 0) listener.end('lost');
  }

  /** Reads once for listeners behind the head and once at the head, so that no listener waits for one that is far behind. */
  async #round(): Promise<void> {
    if (performance.now() - this.#lookedAt > LOOK_MS) await this.#look();
    const ready = [...this.listeners].filter(({ isReady }) => isReady);
    if (ready.length === 0) {
      await delay(PAUSE_MS / 10);
      return;
    }
    const head = await this.#head(ready);
    this.#rounds += 1;
    for (const listener of ready) if (lagOf(listener, head) > CUT_BEHIND) listener.end('slow');
    const behind = placesBehind(
      ready.filter(({ isReady }) => isReady),
      head,
      this.#rounds,
    );
    const isBehind = behind.length > 0;
    if (isBehind) await this.#handOut(await this.fetcher.fetchAll(behind, { maxBytes: MAX_BYTES_BEHIND, waitMs: 0 }));
    await this.#handOut(await this.fetcher.fetchAll(head, { maxBytes: MAX_BYTES, waitMs: isBehind ? 0 : WAIT_MS }));
    await delay(isBehind ? PACE_BEHIND_MS : PACE_MS);
  }

  /** Returns the furthest place of any listener in each partition. */
  async #head(ready: readonly Listener[]): Promise<Place[]> {
    const wanted = new Map(
      [...this.#types].map(([topic, type]) => [
        topic,
        ready.filter((listener) => listener.nextOf(type, 0) !== undefined),
      ]),
    );
    const topics = [...wanted].flatMap(([topic, wanting]) => (wanting.length > 0 ? [topic] : []));
    const head: Place[] = [];
    for (const [topic, count] of await this.fetcher.partitions(topics)) {
      const type = this.#types.get(topic) as EnvelopeType;
      const wanting = wanted.get(topic) ?? [];
      for (let partition = 0; partition < count; partition += 1) {
        const offset = Math.max(...wanting.map((listener) => listener.nextOf(type, partition) ?? 0));
        head.push({ topic, partition, offset, type });
      }
    }
    return head;
  }

  async #handOut(slices: readonly LogSlice[]): Promise<void> {
    for (const { topic, partition, from, next, records, end } of slices) {
      const type = this.#types.get(topic) as EnvelopeType;
      this.#ends.set(`${topic} ${partition}`, { topic, type, partition, offset: end });
      const isWithin = (at = -1): boolean => from <= at && at < next;
      const takers = [...this.listeners].filter((listener) => isWithin(listener.nextOf(type, partition)));
      for (const record of records) {
        if (takers.length === 0) break;
        await this.#step();
        const read = readRecord(record, topic, this.prefix);
        if (read.kind === 'poison') continue;
        for (const listener of takers.slice()) {
          if ((listener.nextOf(type, partition) ?? 0) > record.offset) continue;
          // A listener that is full continues at this record later. If it took a following record now, it would miss this
          // record.
          if (!listener.isReady) takers.splice(takers.indexOf(listener), 1);
          else if (listener.take(read, type, partition)) {
            this.metrics.sent(type);
            await this.#step();
          }
        }
      }
      for (const listener of takers) listener.passed(type, partition, next);
    }
  }

  /**
   * Ends the turn of the event loop after some steps. Each event of a stream is a step, because each stream signs its own
   * events.
   */
  async #step(): Promise<void> {
    this.#steps += 1;
    if (this.#steps % STEPS_OF_A_TURN === 0) await nextTurn();
  }

  #lose({ topic, partition }: Omit<LogPlace, 'offset'>): void {
    const type = this.#types.get(topic) as EnvelopeType;
    for (const listener of this.listeners) if (listener.nextOf(type, partition) !== undefined) listener.end('lost');
  }
}
