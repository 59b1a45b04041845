import { deliveryId } from '@relay/delivery';
import { readRecord, type EnvelopeRecord, type LogRecord } from '@relay/events';
import type { SeenEntry } from '@relay/dedupe';
import { readRangeKey, type LogPartition } from '@relay/progress';
import { newJob, type RetryQueue } from '@relay/retry';
import { reasonOf, type ThrottledLog } from '@relay/telemetry';
import type { Webhook } from '@relay/webhooks';
import type { DeliveryDispatcher } from '../delivery/delivery-dispatcher.js';
import type { CatchUpPartition, CatchUpTurn } from '../log/catch-up-partition.js';
import type { ReadingPause } from '../log/reading-pause.js';
import type { FailedDeliveries, InRange } from '../replays/failed-deliveries.js';
import type { ParkingRule } from '../parking/parking-rule.js';
import { dropExpired } from '../parking/expired-ranges.js';
import type { Pace } from './catch-up-throttle.js';
import { sharers } from './pass-sharers.js';
import { Unsettled } from './pending-deliveries.js';
import type { WaitingCounts } from '../parking/waiting-counts.js';

const LOOK_MS = 500;
/** Offsets read in one go: webhooks that may be caught up meanwhile join with the next. */
const PASS = 5_000;
/** Records looked up in one round trip. Few: live deliveries wait while they are unpacked. */
const CHUNK = 50;
/** So close to the head a range is closed: a pass takes seconds, and on a busy partition no range would ever come closer. */
const NEAR = PASS;
/** For so long in all a webhook may hold up a pass while others wait in the same partition. */
const HOLD_UP_MS = 5_000;
/** Deliveries of one webhook that run or wait for its endpoint at once: as many as a healthy one takes. */
const AT_ONCE = 64;

export interface CatchUpParts {
  /** The partitions that are ours by now. */
  partitions: () => readonly CatchUpPartition[];
  webhooks: { current: () => Promise<unknown>; find: (id: string) => Webhook | undefined };
  rule: Pick<ParkingRule, 'isDue' | 'room'>;
  counts: Pick<WaitingCounts, 'of' | 'added'>;
  courier: Pick<DeliveryDispatcher, 'room' | 'dispatch'>;
  queue: Pick<RetryQueue, 'existing' | 'add'>;
  reading: Pick<ReadingPause, 'isPaused'>;
  pace: Pick<Pace, 'pass' | 'turn'>;
  replays: {
    /** Whether a replay is held up. */
    isPaused: (key: string) => boolean;
    /** Of these envelopes, the ids that were first used with other content. */
    conflicts: (entries: readonly SeenEntry[]) => Promise<ReadonlySet<string>>;
  };
  failed: Pick<FailedDeliveries, 'of' | 'replay'>;
  /** Reads a part of the log; `take` holds it up, and ends it by throwing. */
  read: (
    range: LogPartition & { from: number; end: number },
    take: (records: readonly LogRecord[]) => Promise<void>,
  ) => Promise<void>;
  /** The first offset that the log still has. */
  lowest: (at: LogPartition) => Promise<number>;
  /** So many records, at most, were too old before the webhook was caught up. */
  expired: (webhook: Webhook, at: LogPartition, records: number) => void;
  topicPrefix: string;
  log: ThrottledLog;
}

type Kind = 'parked' | 'replays';

/** A record for a webhook or a replay. */
interface Wanted extends InRange {
  readonly webhookId: string;
  readonly series: number;
  /** Of the delivery. */
  readonly id: string;
}

/** The log of a partition read once more, for some of its parked webhooks or of its replays. */
interface Pass {
  readonly partition: CatchUpPartition;
  readonly kind: Kind;
  /** By range key; fewer and fewer, where too much waits. */
  readonly going: Map<string, CatchUpTurn>;
  /** Whether others wait for the next pass. */
  readonly isAlone: boolean;
  /** For how long each webhook has held it up, in milliseconds. */
  readonly heldUp: Map<string, number>;
  /** Envelopes met so far. */
  readonly ids: Set<string>;
}

/** Of a letter that cannot be replayed there is nothing to store again. */
const NOT_MADE = (): Promise<void> => Promise.resolve();

/** Reading was begun anew elsewhere, the partition left, or the process stops. */
class Ended extends Error {}

/**
 * Delivers what waits in the log for parked webhooks, when they may get it: the owner of a partition reads the log again
 * from the lowest of their cursors, once for all of them, and hands out to each what lies in its range, by the same courier
 * and under the same caps as everything else, at a pace that leaves time for what comes. What fails becomes a job, so a
 * webhook is left again while too many wait. Replays are delivered the same way, in passes of their own, so that they hold up no parked webhook.
 */
export class CatchUp {
  readonly #passes = new Map<string, Promise<void>>();
  /** The key with which the last pass of that name began: the next begins with another. */
  readonly #began = new Map<string, string>();
  readonly #unsettled = new Unsettled();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(private readonly parts: CatchUpParts) {}

  start(): void {
    this.#timer = setInterval(() => this.look(), LOOK_MS).unref();
  }

  /** Hands out nothing more; resolves when nothing is being read. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#unsettled.wake();
    await Promise.all(this.#passes.values());
  }

  /** Begins what can be begun, one pass of each kind in a partition at a time. */
  look(): void {
    if (this.#isStopped || this.parts.reading.isPaused) return;
    for (const partition of this.parts.partitions()) {
      if (partition.webhookIds.length > 0) this.#begin(partition, 'parked');
      if (partition.replayKeys.length > 0) this.#begin(partition, 'replays');
    }
  }

  #begin(partition: CatchUpPartition, kind: Kind): void {
    const name = `${partition.at.topic}/${partition.at.partition} ${kind}`;
    if (this.#passes.has(name)) return;
    const pass = this.#pass(partition, kind, name)
      .catch((error: unknown) => this.#failed(partition, error))
      .finally(() => this.#passes.delete(name));
    this.#passes.set(name, pass);
  }

  #failed({ at }: CatchUpPartition, error: unknown): void {
    if (error instanceof Ended) return;
    this.parts.log.warn('parking.paused', 'What waits in the log for parked webhooks cannot be read; tried again', {
      ...at,
      reason: reasonOf(error),
    });
  }

  async #pass(partition: CatchUpPartition, kind: Kind, name: string): Promise<void> {
    await this.parts.webhooks.current();
    const keys = kind === 'parked' ? partition.webhookIds : partition.replayKeys;
    const able = this.#able(partition, keys);
    const { first, going, from } = sharers(able, this.#began.get(name), PASS);
    if (first !== undefined) this.#began.set(name, first);
    const to = Math.max(...[...going.values()].map((turn) => turn.to ?? partition.head));
    const end = Math.min(to, partition.head, from + PASS);
    if (!(from < end)) return;
    const lowest = await this.parts.lowest(partition.at);
    if (from < lowest) return this.#expire(partition, going.keys(), lowest);
    const pass: Pass = { partition, kind, going, ids: new Set(), isAlone: keys.length === 1, heldUp: new Map() };
    await this.parts.pace.pass(async (begun) => {
      this.#assertGoesOn(partition);
      await this.parts.read({ ...partition.at, from, end }, async (records) => {
        begun();
        for (let index = 0; index < records.length; index += CHUNK)
          await this.#hand(pass, records.slice(index, index + CHUNK));
      });
    });
    for (const turn of going.values()) turn.passed(end);
  }

  #assertGoesOn({ goesOn }: CatchUpPartition): void {
    if (this.#isStopped || !goesOn) throw new Ended();
  }

  /** Of these webhooks or replays, those that may be caught up now; a range that has come close to the head is closed. */
  #able(partition: CatchUpPartition, keys: readonly string[]): Map<string, CatchUpTurn> {
    const { webhooks, rule, counts, replays } = this.parts;
    const able = new Map<string, CatchUpTurn>();
    for (const key of keys) {
      const { webhookId } = readRangeKey(key);
      const webhook = webhooks.find(webhookId);
      if (webhook === undefined) {
        partition.forget(key);
        continue;
      }
      // Not for each delivery that ends: reading the log again costs more than that.
      if (replays.isPaused(key) || counts.of(webhookId).deliveries >= rule.room(webhook) / 2) continue;
      const rest = partition.rest(key);
      if (rest === undefined) continue;
      if (rest.to === undefined && partition.head - rest.from <= NEAR && !rule.isDue(webhook)) partition.close(key);
      const turn = partition.turn(key);
      if (turn !== undefined) able.set(key, turn);
    }
    return able;
  }

  #expire(partition: CatchUpPartition, keys: Iterable<string>, lowest: number): void {
    for (const key of keys) {
      const records = dropExpired(partition, key, lowest);
      const webhook = this.parts.webhooks.find(readRangeKey(key).webhookId);
      if (webhook !== undefined && records > 0) this.parts.expired(webhook, partition.at, records);
    }
  }

  async #hand(pass: Pass, records: readonly LogRecord[]): Promise<void> {
    const { partition, going } = pass;
    const { queue, courier, pace, topicPrefix, webhooks } = this.parts;
    await pace.turn();
    await webhooks.current();
    const items = records
      .map((record) => readRecord(record, partition.at.topic, topicPrefix))
      .filter((item) => item.kind === 'envelope');
    const inRange = (await this.#firsts(pass, items)).flatMap((item) => this.#wanted(going, item));
    const wanted = await this.parts.failed.of(inRange);
    // Of what was handed out before a crash, some became jobs beyond the cursor.
    const queued = await queue.existing(wanted.map(({ id }) => id));
    for (const { key, webhookId, series, record, id, letters } of wanted) {
      const turn = going.get(key);
      if (turn === undefined) continue;
      await pace.turn();
      const webhook = this.parts.replays.isPaused(key) ? undefined : await this.#admitted(pass, webhookId);
      if (webhook === undefined) {
        going.delete(key);
        if (going.size === 0) throw new Ended();
        continue;
      }
      for (let room = courier.room(); room !== undefined; room = courier.room()) await room;
      this.#assertGoesOn(partition);
      const settled = turn.begin(record.record.offset);
      if (settled === undefined) continue;
      if (letters.length > 0) {
        const isMade = await this.parts.failed.replay(letters);
        if (isMade) this.parts.counts.added(webhook.id, record.envelope.bytes.length);
        settled(isMade ? undefined : NOT_MADE);
        continue;
      }
      if (queued.has(id)) {
        settled(() => queue.add({ job: newJob(webhook, record, series), at: Date.now() }));
        continue;
      }
      this.#unsettled.begun(webhook.id);
      courier.dispatch({
        webhook,
        record,
        series,
        isCaughtUp: true,
        settled: (repeat) => {
          this.#unsettled.ended(webhook.id);
          if (repeat !== undefined) this.parts.counts.added(webhook.id, record.envelope.bytes.length);
          settled(repeat);
        },
      });
    }
  }

  /**
   * Without repeats and conflicts. Those in the range of a parked webhook were remembered when they came; those of a replay may
   * have come long before it was ordered, so they are looked for as far as the marks and this pass tell.
   */
  async #firsts({ kind, ids }: Pass, items: readonly EnvelopeRecord[]): Promise<readonly EnvelopeRecord[]> {
    if (kind === 'parked') return items;
    const entries = items.map(({ envelope: { id, contentHash: hash } }) => ({ id, hash }));
    const conflicts = await this.parts.replays.conflicts(entries);
    return items.filter(({ envelope: { id } }) => !conflicts.has(id) && ids.size < ids.add(id).size);
  }

  #wanted(going: ReadonlyMap<string, CatchUpTurn>, item: EnvelopeRecord): Wanted[] {
    const { id: envelopeId, contentHash: hash, type, audience } = item.envelope;
    // Its time begins now: it never had a chance before.
    const record = { ...item, acceptedAt: Date.now(), waitedSince: item.acceptedAt };
    return [...going].flatMap(([key, turn]) => {
      const { webhookId, series } = readRangeKey(key);
      const webhook = this.parts.webhooks.find(webhookId);
      if (webhook === undefined || webhook.eventType !== type) return [];
      if (audience.length > 0 && !audience.includes(webhook.partnerId)) return [];
      if (item.record.offset < turn.from) return [];
      return [{ key, webhookId, series, record, id: deliveryId({ webhookId, envelopeId, hash, series }) }];
    });
  }

  /**
   * The webhook as it is registered now, once fewer of it run. Undefined when it may get nothing for now, too much of it waits in
   * the queue, or others waited for it long enough.
   */
  async #admitted({ partition, isAlone, heldUp }: Pass, id: string): Promise<Webhook | undefined> {
    for (;;) {
      const webhook = this.parts.webhooks.find(id);
      if (webhook === undefined) return undefined;
      const [waiting, room] = [this.parts.counts.of(id).deliveries, this.parts.rule.room(webhook)];
      const held = heldUp.get(id) ?? 0;
      if (waiting >= room || (!isAlone && held > HOLD_UP_MS)) return undefined;
      const running = this.#unsettled.of(id);
      if (running < AT_ONCE && waiting + running < room) return webhook;
      const since = performance.now();
      await this.#unsettled.change();
      heldUp.set(id, held + performance.now() - since);
      this.#assertGoesOn(partition);
    }
  }
}
