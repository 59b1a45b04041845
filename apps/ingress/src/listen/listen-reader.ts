import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { EVENT_TYPES, readRecord, topicOf, type EventType } from '@relay/events';
import { placeOutside, type LogPlace, type LogSlice, type LogFetcher } from '@relay/kafka';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import type { Listener } from './listener.js';
import { MOST_BEHIND } from './position.js';

/** How long a read waits for a record: a new listener's place is read from after this time at the latest. */
const WAIT_MS = 250;
const PAUSE_MS = 500;
/** Between two reads at the head: what comes meanwhile is read together. */
const PACE_MS = 20;
/** A stream that goes on begins up to MOST_BEHIND back, and the head moves on meanwhile. */
const CUT_BEHIND = 2 * MOST_BEHIND;
/** Bytes of one answer of a broker, which the driver decodes in one turn of the event loop. */
const MAX_BYTES = 1024 * 1024;
/** Records between two turns of the event loop, which the envelopes that are posted need. */
const RECORDS_OF_A_TURN = 50;

/** The one reader of the log of a process, for all of its listeners. It runs while there are any. */
export class ListenReader {
  readonly #types: ReadonlyMap<string, EventType>;
  #isRunning = false;
  #rounds = 0;

  constructor(
    private readonly fetcher: Pick<LogFetcher, 'partitions' | 'fetchAll'>,
    private readonly listeners: ReadonlySet<Listener>,
    private readonly prefix: string,
    private readonly log: ThrottledLog,
  ) {
    this.#types = new Map(EVENT_TYPES.map((type) => [topicOf(prefix, type), type]));
  }

  /** Reads until there is no listener; resolves then, or at once where it reads already. */
  async run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
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

  /** Reads on for those at the head, and a part for one of those behind it, in turns: nobody waits for who is far behind. */
  async #round(): Promise<void> {
    const ready = [...this.listeners].filter(({ isReady }) => isReady);
    if (ready.length === 0) {
      await delay(PAUSE_MS / 10);
      return;
    }
    const head = await this.#head(ready);
    const behind = ready.filter((listener) => placesBehind(listener, head).length > 0);
    this.#rounds += 1;
    const one = behind[this.#rounds % behind.length];
    if (one !== undefined) {
      const places = placesBehind(one, head);
      if (places.reduce((sum, { lag }) => sum + lag, 0) > CUT_BEHIND) one.end('slow');
      else await this.#handOut(await this.fetcher.fetchAll(places, { maxBytes: MAX_BYTES, waitMs: 0 }));
    }
    const waitMs = behind.length > 0 ? 0 : WAIT_MS;
    await this.#handOut(await this.fetcher.fetchAll(head, { maxBytes: MAX_BYTES, waitMs }));
    if (behind.length === 0) await delay(PACE_MS);
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
    for (const { topic, partition, from, next, records } of slices) {
      const type = this.#types.get(topic) as EventType;
      const isWithin = (at = -1): boolean => from <= at && at < next;
      const takers = [...this.listeners].filter((listener) => isWithin(listener.nextOf(type, partition)));
      for (const [index, record] of records.entries()) {
        if (takers.length === 0) break;
        if (index % RECORDS_OF_A_TURN === RECORDS_OF_A_TURN - 1) await turn();
        const read = readRecord(record, topic, this.prefix);
        if (read.kind === 'poison') continue;
        for (const listener of takers.slice()) {
          if ((listener.nextOf(type, partition) ?? 0) > record.offset) continue;
          if (listener.isReady) listener.take(read, type, partition);
          // It goes on from here later: with what follows now it would miss this record.
          else takers.splice(takers.indexOf(listener), 1);
        }
      }
      for (const listener of takers) listener.passed(type, partition, next);
    }
  }

  #lose({ topic, partition }: Omit<LogPlace, 'offset'>): void {
    const type = this.#types.get(topic) as EventType;
    for (const listener of this.listeners) if (listener.nextOf(type, partition) !== undefined) listener.end('lost');
  }
}

interface Place extends LogPlace {
  readonly type: EventType;
}

function placesBehind(listener: Listener, head: readonly Place[]): (LogPlace & { readonly lag: number })[] {
  return head.flatMap(({ type, topic, partition, offset: furthest }) => {
    const offset = listener.nextOf(type, partition);
    return offset === undefined || offset >= furthest ? [] : [{ topic, partition, offset, lag: furthest - offset }];
  });
}
