import type { SeenEntry } from '@relay/dedupe';
import type { LogPartition } from '@relay/progress';
import type { StoreAgain, RecordHandle } from '../log/log-chunk.js';

interface Running {
  /** The record it was started from. */
  readonly origin: string;
  /** Of every record that brought it: all are settled with it. */
  readonly tickets: RecordHandle[];
  /** What was stored of it so far. */
  readonly adds: StoreAgain[];
  /** Its own record came once more: Redis went back, and may have lost what was stored before that. */
  readAgain: boolean;
  /** Webhooks that it did not go to because it waits in the log for them. */
  readonly parked: string[];
}

/**
 * Envelopes this worker is running, by id and content hash. A record that brings one of them again (a repeat of the
 * source, or a re-read after Redis went back) is not started twice: it is settled when the running one is. A re-read
 * was not there when the jobs of webhooks that had failed by then were added, and Redis may have lost these: they are
 * added again before anything is settled. Their ids make that harmless. Likewise it may have lost that the record waits for
 * parked webhooks, so the re-read parks them.
 */
export class RunningEnvelopes {
  readonly #running = new Map<string, Running>();

  /** @param store repeats an add until it is confirmed */
  constructor(private readonly store: (add: StoreAgain) => Promise<void>) {}

  get size(): number {
    return this.#running.size;
  }

  /** Unless it is `new` its ticket is settled with the running one: a `repeat` of the source, or its own record `again`. */
  start(entry: SeenEntry, at: LogPartition, offset: number, ticket: RecordHandle): 'new' | 'repeat' | 'again' {
    const origin = `${at.topic}/${at.partition}/${offset}`;
    const running = this.#running.get(keyOf(entry));
    if (running === undefined) {
      this.#running.set(keyOf(entry), { origin, tickets: [ticket], adds: [], readAgain: false, parked: [] });
      return 'new';
    }
    running.tickets.push(ticket);
    if (running.origin !== origin) {
      ticket.dropped();
      return 'repeat';
    }
    running.readAgain = true;
    for (const webhookId of running.parked) ticket.park(webhookId);
    return 'again';
  }

  /** It does not go to this webhook, for which it waits in the log. */
  parked(entry: SeenEntry, webhookId: string): void {
    this.#running.get(keyOf(entry))?.parked.push(webhookId);
  }

  /** One of its webhooks is settled by this add, which its record's ticket was told as well. */
  added(entry: SeenEntry, add: StoreAgain): void {
    this.#running.get(keyOf(entry))?.adds.push(add);
  }

  /** Ends it; false when it does not run. */
  settle(entry: SeenEntry): boolean {
    const running = this.#running.get(keyOf(entry));
    if (running === undefined) return false;
    if (running.readAgain) void this.#repeat(entry, running);
    else this.#end(entry, running);
    return true;
  }

  async #repeat(entry: SeenEntry, running: Running): Promise<void> {
    while (running.readAgain) {
      running.readAgain = false;
      await Promise.all(running.adds.map((add) => this.#addAgain(add, running.tickets)));
    }
    this.#end(entry, running);
  }

  /** Told as soon as it is confirmed: Redis may lose it once more while the others are stored. */
  async #addAgain(add: StoreAgain, tickets: readonly RecordHandle[]): Promise<void> {
    await this.store(add);
    for (const ticket of tickets) ticket.added(add);
  }

  #end(entry: SeenEntry, { tickets }: Running): void {
    this.#running.delete(keyOf(entry));
    for (const ticket of tickets) ticket.settled(entry);
  }
}

const keyOf = ({ id, hash }: SeenEntry): string => `${id} ${hash}`;
