import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { eventTypes, isNoticeType, readRecord, topicOf, type EnvelopeType } from '@relay/events';
import { placeOutside, type LogFetcher, type LogPlace, type LogSlice } from '@relay/kafka';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import { madeAnew, MOST_BEHIND, type Listener } from './listener.js';

/** Listeners behind the head that are within this number of records share reads, from the offset of the furthest behind. */
const TOGETHER = 500;

/** A place in the log, and the event type of its topic. */
export interface Place extends LogPlace {
  readonly type: EnvelopeType;
}

type Reader = Pick<Listener, 'nextOf'>;

/** Returns the number of records that the listener has not passed, up to these places. */
export const lagOf = (listener: Reader, head: readonly Place[]): number =>
  head.reduce((sum, { type, partition, offset }) => {
    const next = listener.nextOf(type, partition) ?? offset;
    return sum + Math.max(0, offset - next);
  }, 0);

/**
 * Returns one place of each partition from which to read for listeners behind the head. Listeners that are close together share a
 * place, and the groups take turns, so that none waits for a listener far behind. The first partition changes with each turn too,
 * because a broker fills its answer in the order of the request.
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

/** Returns the lowest offset of each group of offsets below the end. */
function beginsOf(offsets: readonly number[], end: number): readonly number[] {
  const begins: number[] = [];
  for (const offset of offsets.filter((each) => each < end).toSorted((a, b) => a - b))
    if (offset - (begins.at(-1) ?? -Infinity) > TOGETHER) begins.push(offset);
  return begins;
}

/** How long a read waits for a record, in ms. A new listener waits at most this time for its first read. */
const WAIT_MS = 250;
const PAUSE_MS = 500;
/** Pause between two reads at the head, in ms, so that one read takes all records that arrive meanwhile. */
const PACE_MS = 20;
/** Pause in ms while a listener is behind. Without it a slow client, which takes 64 KiB at a time, causes reads all the time. */
const PACE_BEHIND_MS = 5;
/** Records behind the head at which a stream ends. A resumed stream may begin MOST_BEHIND back, and the head moves on. */
const CUT_BEHIND = 2 * MOST_BEHIND;
/** Most bytes of a broker's answer, which the driver decodes in one turn of the event loop. */
const MAX_BYTES = 1024 * 1024;
/** Most bytes of an answer for listeners behind: a slow stream drops most of a larger answer. */
const MAX_BYTES_BEHIND = 256 * 1024;
/** Interval of the check whether the topics are still the same, in ms. */
const LOOK_MS = 3_000;
/** Records and events in a turn of the event loop, which posted envelopes need too. */
const STEPS_OF_A_TURN = 50;

/** Reads the log for all listeners of a process. It runs while there are any. */
export class ListenReader {
  #types: ReadonlyMap<string, EnvelopeType> = new Map();
  #isRunning = false;
  /** The end of each read partition, by topic and partition. */
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

  /** Maps the topics of the present event types, archived ones among them. */
  #learn(): void {
    const types = eventTypes.names('known').filter((type) => !isNoticeType(type));
    this.#types = new Map(types.map((type) => [topicOf(this.prefix, type), type]));
  }

  /** Reads until there is no listener, and resolves then; resolves at once if it already runs. */
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

  /** Records that the stream furthest behind has not passed, by the ends in the brokers' last answers. */
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

  /** Ends streams of topics that were deleted and created again: their offsets belong to a log that is gone. */
  async #look(): Promise<void> {
    this.#lookedAt = performance.now();
    const now = await this.topicIds([...this.#types.values()]);
    for (const listener of this.listeners) if (madeAnew(listener.topicIds, now).length > 0) listener.end('lost');
  }

  /** Reads once for listeners behind the head and once at the head, so that none waits for a listener far behind. */
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
          // The listener resumes here later; if it took a following record now, it would miss this one.
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

  /** Yields a turn of the event loop after some steps. A step is an event of one stream, since each stream has its own signature. */
  async #step(): Promise<void> {
    this.#steps += 1;
    if (this.#steps % STEPS_OF_A_TURN === 0) await nextTurn();
  }

  #lose({ topic, partition }: Omit<LogPlace, 'offset'>): void {
    const type = this.#types.get(topic) as EnvelopeType;
    for (const listener of this.listeners) if (listener.nextOf(type, partition) !== undefined) listener.end('lost');
  }
}
