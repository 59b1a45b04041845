import type { Audit } from '@relay/audit';
import type { TimeWindow } from '@relay/kafka';
import type { ReplayStatus } from './replay-status.js';
import type { ReplayRange, Replays } from './replays.adapter.js';

/** Whose deliveries are made again. */
export interface ReplayTarget {
  readonly webhookId: string;
  readonly partnerId: string;
  readonly eventType: string;
  /** `failed`: only those that are dead letters. */
  readonly status: ReplayStatus['status'];
}

export type Ordered =
  | { readonly kind: 'ordered'; readonly replay: ReplayStatus }
  /** Another replay of the webhook has not ended. */
  | { readonly kind: 'running'; readonly id: string };

/** Who orders or ends a replay: the partner itself, or an operator. */
export type ReplayActor = { readonly partnerId: string } | { readonly operator: string };

export interface ReplayServiceParts {
  readonly replays: Pick<Replays, 'create' | 'find' | 'cancel' | 'pause' | 'newest' | 'runningOf' | 'underWay'>;
  /** What the topic of an event type holds of a time. Rejects while Kafka is away. */
  readonly ranges: (eventType: string, window: TimeWindow) => Promise<readonly ReplayRange[]>;
  /** How many dead letters of a webhook died then or later, at most. */
  readonly letters: (webhookId: string, since: number | undefined) => Promise<number>;
  readonly audit: Pick<Audit, 'report'>;
  readonly newId: () => string;
  readonly now: () => number;
}

/** What an order goes by; for many of one event type and time it is looked up once. */
export interface ReplayScope {
  readonly ranges: readonly ReplayRange[];
  /** How many records lie in the ranges. */
  readonly records: number;
  /** Replays that have not ended, of whatever webhook. */
  readonly underWay: readonly ReplayStatus[];
}

/** Orders replays by time, holds them up and ends them, for partners over HTTP and operators on the command line. */
export class ReplayService {
  constructor(private readonly parts: ReplayServiceParts) {}

  /** How many records lie in the window: so many deliveries at most. */
  async count(eventType: string, window: TimeWindow): Promise<number> {
    return recordsIn(await this.parts.ranges(eventType, window));
  }

  /** Rejects while Kafka or Redis is away. */
  async look(eventType: string, window: TimeWindow): Promise<ReplayScope> {
    const { replays, now } = this.parts;
    const ranges = await this.parts.ranges(eventType, window);
    return { ranges, records: recordsIn(ranges), underWay: (await replays.underWay(now())).filter(isUnderWay) };
  }

  /** So many dead letters at most: of some the envelope was accepted after the window, or is in the log no more. */
  async countFailed({ eventType, webhookId }: ReplayTarget, window: TimeWindow): Promise<number> {
    const [records, letters] = await Promise.all([
      this.count(eventType, window),
      this.parts.letters(webhookId, window.since),
    ]);
    return Math.min(records, letters);
  }

  /**
   * Told before it is ordered. Rejects while Kafka or Redis is away: nothing is ordered then.
   * @param known what is known of this event type and time; Kafka is asked where it is left out
   */
  async order(
    target: ReplayTarget,
    window: TimeWindow,
    actor: ReplayActor,
    known?: Pick<ReplayScope, 'ranges'>,
  ): Promise<Ordered> {
    const { replays, audit, newId, now } = this.parts;
    // What is refused is not told, and costs Kafka nothing; of two that come at once one is told and refused all the same.
    const other = await replays.runningOf(target.webhookId);
    if (other !== undefined) return { kind: 'running', id: other };
    const ranges = known?.ranges ?? (await this.parts.ranges(target.eventType, window));
    const id = newId();
    await audit.report({
      event: 'replay.ordered',
      ...actor,
      id,
      ...target,
      since: timeOf(window.since),
      until: timeOf(window.until),
    });
    const orderedBy = 'operator' in actor ? 'operator' : 'partner';
    const running = await replays.create({ id, ...target, ...window, orderedBy }, ranges, now());
    if (running !== undefined) return { kind: 'running', id: running };
    const replay = await replays.find(id, now());
    if (replay === undefined) throw new Error(`the replay ${id} was stored and is not there`);
    return { kind: 'ordered', replay };
  }

  /** The newest of those remembered, at most `limit`. */
  list(limit: number): Promise<ReplayStatus[]> {
    return this.parts.replays.newest(0, limit, this.parts.now());
  }

  find(id: string): Promise<ReplayStatus | undefined> {
    return this.parts.replays.find(id, this.parts.now());
  }

  /** Ends one that is under way; what it has handed over already is delivered. False when it had ended. */
  async cancel(id: string, actor: ReplayActor): Promise<boolean> {
    const { replays, audit, now } = this.parts;
    const replay = await replays.find(id, now());
    if (replay === undefined || !isUnderWay(replay)) return false;
    await audit.report({ event: 'replay.cancelled', ...actor, id });
    return replays.cancel(id, now());
  }

  /**
   * Holds one up that runs. Told once it is so: nothing is lost by it, and who asks for it may be about to go.
   * @param untold called when Kafka does not take it
   */
  async pause(id: string, actor: ReplayActor, untold: (error: unknown) => void): Promise<void> {
    const { replays, audit, now } = this.parts;
    if ((await replays.find(id, now()))?.state !== 'running' || !(await replays.pause(id, true))) return;
    // Not what it says itself: that nothing was changed.
    await audit.report({ event: 'replay.paused', ...actor, id }).catch((error: Error) => untold(error.cause));
  }

  /** Lets one go on that was held up. Told before. */
  async resume(id: string, actor: ReplayActor): Promise<void> {
    const { replays, audit, now } = this.parts;
    if ((await replays.find(id, now()))?.state !== 'paused') return;
    await audit.report({ event: 'replay.resumed', ...actor, id });
    await replays.pause(id, false);
  }
}

const recordsIn = (ranges: readonly ReplayRange[]): number =>
  ranges.reduce((sum, { from, end }) => sum + Math.max(0, end - from), 0);

const isUnderWay = ({ state }: ReplayStatus): boolean => state === 'running' || state === 'paused';

const timeOf = (time: number | undefined): string | undefined =>
  time === undefined ? undefined : new Date(time).toISOString();
