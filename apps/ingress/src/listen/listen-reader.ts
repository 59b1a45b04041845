import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { EVENT_TYPES, readRecord, topicOf, type EventType } from '@relay/events';
import { placeOutside, type LogFetcher, type LogPlace, type LogSlice } from '@relay/kafka';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import type { Listener } from './listener.js';
import { madeAnew, MOST_BEHIND } from './position.js';

/** Those behind within so many records of each other are read for together, from the place of the last. */
const TOGETHER = 500;

/** A place of the log, and the type of the topic. */
export interface Place extends LogPlace {
  readonly type: EventType;
}

type Reader = Pick<Listener, 'nextOf'>;

/** Records that it has not passed, up to these places. */
export const lagOf = (listener: Reader, head: readonly Place[]): number =>
  head.reduce((sum, { type, partition, offset }) => {
    const next = listener.nextOf(type, partition) ?? offset;
    return sum + Math.max(0, offset - next);
  }, 0);

/**
 * One place of each partition to read from for those behind these places. Those that are close together share it, and the groups
 * take turns, so that nobody waits for who is far behind. A broker fills its answer in the order of the request: the partitions
 * take turns at its beginning.
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

/** The lowest offset of each group of offsets below the end. */
function beginsOf(offsets: readonly number[], end: number): readonly number[] {
  const begins: number[] = [];
  for (const offset of offsets.filter((each) => each < end).toSorted((a, b) => a - b))
    if (offset - (begins.at(-1) ?? -Infinity) > TOGETHER) begins.push(offset);
  return begins;
}

/** How long a read waits for a record: a new listener's place is read from after this time at the latest. */
const WAIT_MS = 250;
const PAUSE_MS = 500;
/** Between two reads at the head: what comes meanwhile is read together. */
const PACE_MS = 20;
/** The same while somebody is behind. Who reads slowly comes again for each 64 KiB, and would have it read without a pause. */
const PACE_BEHIND_MS = 5;
/** A stream that goes on begins up to MOST_BEHIND back, and the head moves on meanwhile. */
const CUT_BEHIND = 2 * MOST_BEHIND;
/** Bytes of one answer of a broker, which the driver decodes in one turn of the event loop. */
const MAX_BYTES = 1024 * 1024;
/** The same for those behind: of more, a stream that reads slowly would drop the most. */
const MAX_BYTES_BEHIND = 256 * 1024;
/** Between two looks whether the topics are still the same. */
const LOOK_MS = 3_000;
/** Records and events between two turns of the event loop, which the envelopes that are posted need. */
const STEPS_OF_A_TURN = 50;

/** The one reader of the log of a process, for all of its listeners. It runs while there are any. */
export class ListenReader {
  readonly #types: ReadonlyMap<string, EventType>;
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
    private readonly metrics: { sent(type: EventType): void },
  ) {
    this.#types = new Map(EVENT_TYPES.map((type) => [topicOf(prefix, type), type]));
  }

  /** Reads until there is no listener; resolves then, or at once where it reads already. */
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

  /** Records that the stream furthest behind has not passed, by the ends that were told with the last records. */
  get behind(): number {
    const ends = [...this.#ends.values()];
    return Math.max(0, ...[...this.listeners].map((listener) => lagOf(listener, ends)));
  }

  /** The ids of the topics of these types. */
  async topicIds(types: readonly EventType[]): Promise<Map<EventType, string>> {
    const found = await this.fetcher.topicIds(types.map((type) => topicOf(this.prefix, type)));
    return new Map(
      [...found].flatMap(([topic, id]) => (id === undefined ? [] : [[this.#types.get(topic) as EventType, id]])),
    );
  }

  /** A stream of a topic that was made anew stands at an offset of a log that is gone. */
  async #look(): Promise<void> {
    this.#lookedAt = performance.now();
    const now = await this.topicIds([...this.#types.values()]);
    for (const listener of this.listeners) if (madeAnew(listener.topicIds, now).length > 0) listener.end('lost');
  }

  /** Reads on for those at the head, and a part for those behind it: nobody waits for who is far behind. */
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

  /** The furthest place of each partition that anybody listens to. */
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
      const type = this.#types.get(topic) as EventType;
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
      const type = this.#types.get(topic) as EventType;
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
          // It goes on from here later: with what follows now it would miss this record.
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

  /** An event is signed and sealed for its stream alone: many streams of one record take as long as many records. */
  async #step(): Promise<void> {
    this.#steps += 1;
    if (this.#steps % STEPS_OF_A_TURN === 0) await nextTurn();
  }

  #lose({ topic, partition }: Omit<LogPlace, 'offset'>): void {
    const type = this.#types.get(topic) as EventType;
    for (const listener of this.listeners) if (listener.nextOf(type, partition) !== undefined) listener.end('lost');
  }
}
