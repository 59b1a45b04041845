import { randomUUID } from 'node:crypto';
import type { AskedBy, Audit } from '@relay/audit';
import { DeadLetterIndex } from '@relay/dead-letters';
import { topicOf } from '@relay/events';
import { type KeptAdmin, rangesWithin, type TimeWindow } from '@relay/kafka';
import { unavailable } from '@relay/problem';
import type { Shards } from '@relay/redis';
import type { ReplayStatus } from './replay-status.js';
import { Replays, type ReplayPage, type ReplayPaging, type ReplayRange } from './replays.adapter.js';

export type ReplayTarget = Pick<ReplayStatus, 'webhookId' | 'partnerId' | 'eventType' | 'status'>;

/** Another replay of the webhook is running or paused. */
interface Running {
  readonly kind: 'running';
  readonly id: string;
}

type Ordered = { readonly kind: 'ordered'; readonly replay: ReplayStatus } | Running;

type Counted = { readonly kind: 'counted'; readonly matched: number } | Running;

interface ReplayServiceParts {
  readonly replays: Replays;
  /** The ranges of an event type's topic within the window. Rejects while Kafka is away. */
  readonly ranges: (eventType: string, window: TimeWindow) => Promise<readonly ReplayRange[]>;
  /** Upper bound of the dead letters of a webhook that died at `since` or later. */
  readonly letters: (webhookId: string, since: number | undefined) => Promise<number>;
  readonly audit: Pick<Audit, 'report'>;
  readonly newId: () => string;
  readonly now: () => number;
}

/** Orders, pauses, resumes and cancels replays, for partners and operators. */
export class ReplayService {
  constructor(private readonly parts: ReplayServiceParts) {}

  /** Returns an upper bound of the deliveries that an order makes. */
  async count(target: ReplayTarget, window: TimeWindow, ranges = this.parts.ranges): Promise<number> {
    const { replays, letters } = this.parts;
    const records = recordsIn(await replays.unwaited(target, await ranges(target.eventType, window)));
    // Some envelopes of dead letters may be newer than the window, or no longer in the log.
    return target.status === 'all' ? records : Math.min(records, await letters(target.webhookId, window.since));
  }

  /** Counts for several webhooks, in their order. Kafka is asked once for each event type. */
  async countEach(targets: readonly ReplayTarget[], window: TimeWindow): Promise<Counted[]> {
    const ranges = this.#rangesOnce();
    const count = async (target: ReplayTarget): Promise<Counted> => {
      const id = await this.parts.replays.runningOf(target.webhookId);
      if (id !== undefined) return { kind: 'running', id };
      return { kind: 'counted', matched: await this.count(target, window, ranges) };
    };
    return Promise.all(targets.map(count));
  }

  /** Reports the replay, then orders it. Rejects, without an order, while Kafka or Redis is away. */
  async order(target: ReplayTarget, window: TimeWindow, actor: AskedBy): Promise<Ordered> {
    const store = await this.#report(target, window, actor, this.parts.ranges);
    return store();
  }

  /**
   * Orders for several webhooks, in their order. Kafka is asked once for each event type, and has all reports before the first
   * order.
   */
  async orderEach(targets: readonly ReplayTarget[], window: TimeWindow, actor: AskedBy): Promise<Ordered[]> {
    const ranges = this.#rangesOnce();
    const stores = await Promise.all(targets.map((target) => this.#report(target, window, actor, ranges)));
    return Promise.all(stores.map((store) => store()));
  }

  /** @returns what orders the reported replay */
  async #report(
    target: ReplayTarget,
    window: TimeWindow,
    actor: AskedBy,
    rangesOf: ReplayServiceParts['ranges'],
  ): Promise<() => Promise<Ordered>> {
    const { replays, audit, newId, now } = this.parts;
    // A refused order is not reported and costs Kafka nothing, unless two orders arrive at once: both are reported then.
    const other = await replays.runningOf(target.webhookId);
    if (other !== undefined) return async () => ({ kind: 'running', id: other });
    const ranges = await replays.unwaited(target, await rangesOf(target.eventType, window));
    const id = newId();
    await audit.report({
      event: 'replay.ordered',
      ...actor,
      id,
      ...target,
      since: timeOf(window.since),
      until: timeOf(window.until),
    });
    const orderedBy = actor.operator === undefined ? 'partner' : 'operator';
    return async () => {
      const running = await replays.create({ id, ...target, ...window, orderedBy }, ranges, now());
      if (running !== undefined) return { kind: 'running', id: running };
      const replay = await replays.ordered(id, now());
      if (replay === undefined) throw new Error(`the replay ${id} was stored and is not there`);
      return { kind: 'ordered', replay };
    };
  }

  /** The ranges of a request that is about one window. */
  #rangesOnce(): ReplayServiceParts['ranges'] {
    const found = new Map<string, ReturnType<ReplayServiceParts['ranges']>>();
    return (eventType, window) => {
      const ranges = found.get(eventType) ?? this.parts.ranges(eventType, window);
      found.set(eventType, ranges);
      return ranges;
    };
  }

  list(paging: ReplayPaging): Promise<ReplayPage> {
    return this.parts.replays.ofAll(paging, this.parts.now());
  }

  /** The replays of a partner, or of some of its webhooks. */
  async ofPartner(partnerId: string, paging: ReplayPaging, webhookIds?: readonly string[]): Promise<ReplayPage> {
    const { replays, now } = this.parts;
    if (webhookIds === undefined) return replays.ofPartner(partnerId, paging, now());
    const page = await replays.ofWebhooks(webhookIds, paging, now());
    return { ...page, replays: page.replays.filter((replay) => replay.partnerId === partnerId) };
  }

  find(id: string): Promise<ReplayStatus | undefined> {
    return this.parts.replays.find(id, this.parts.now());
  }

  /** Ends a running or paused replay; deliveries that it has begun continue. False when it had ended. */
  async cancel(id: string, actor: AskedBy): Promise<boolean> {
    const { replays, audit, now } = this.parts;
    const replay = await replays.find(id, now());
    if (replay?.state !== 'running' && replay?.state !== 'paused') return false;
    await audit.report({ event: 'replay.cancelled', ...actor, id });
    return replays.cancel(id, now());
  }

  /**
   * Pauses a running replay, then reports that: a pause loses nothing, and its caller may be about to exit.
   * @param unreported called when Kafka does not take the report
   */
  async pause(id: string, actor: AskedBy, unreported: (error: unknown) => void): Promise<void> {
    const { replays, audit, now } = this.parts;
    if ((await replays.find(id, now()))?.state !== 'running' || !(await replays.pause(id, true))) return;
    // The cause, since the error itself says that nothing was changed.
    await audit.report({ event: 'replay.paused', ...actor, id }).catch((error: Error) => unreported(error.cause));
  }

  /** Reports the resumption of a paused replay, then resumes it. */
  async resume(id: string, actor: AskedBy): Promise<void> {
    const { replays, audit, now } = this.parts;
    if ((await replays.find(id, now()))?.state !== 'paused') return;
    await audit.report({ event: 'replay.resumed', ...actor, id });
    await replays.pause(id, false);
  }
}

/** A service over Redis and Kafka. While no broker answers, orders reject with ProblemError `unavailable`. */
export const openReplayService = (shards: Shards, kafka: KeptAdmin, audit: Audit, topicPrefix: string): ReplayService =>
  new ReplayService({
    replays: new Replays(shards.global, shards),
    ranges: (eventType, window) =>
      kafka
        .ask((admin) => rangesWithin(admin, topicOf(topicPrefix, eventType), window))
        .catch((cause: unknown) => {
          throw unavailable('Kafka does not answer at the moment: nothing was ordered.', 5, cause);
        }),
    letters: (webhookId, since) => new DeadLetterIndex(shards).count(webhookId, since),
    audit,
    newId: randomUUID,
    now: Date.now,
  });

const recordsIn = (ranges: readonly ReplayRange[]): number =>
  ranges.reduce((sum, { from, end }) => sum + Math.max(0, end - from), 0);

const timeOf = (time: number | undefined): string | undefined =>
  time === undefined ? undefined : new Date(time).toISOString();
