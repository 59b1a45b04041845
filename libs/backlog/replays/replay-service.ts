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

/** The id of another replay of the webhook, which is running or paused. */
interface Running {
  readonly kind: 'running';
  readonly id: string;
}

type Ordered = { readonly kind: 'ordered'; readonly replay: ReplayStatus } | Running;

type Counted = { readonly kind: 'counted'; readonly matched: number } | Running;

interface ReplayServiceParts {
  readonly replays: Replays;
  /** Returns the ranges of an event type's topic within the window. Rejects while Kafka is unavailable. */
  readonly ranges: (eventType: string, window: TimeWindow) => Promise<readonly ReplayRange[]>;
  /** Returns an upper bound of the number of dead letters of a webhook that died at `since` or later. */
  readonly letters: (webhookId: string, since: number | undefined) => Promise<number>;
  readonly audit: Pick<Audit, 'report'>;
  readonly newId: () => string;
  readonly now: () => number;
}

/** Orders, pauses, resumes and cancels replays, for partners and operators. */
export class ReplayService {
  constructor(private readonly parts: ReplayServiceParts) {}

  /** Returns an upper bound of the number of deliveries that a replay would make if it were ordered now. */
  async count(target: ReplayTarget, window: TimeWindow, ranges = this.parts.ranges): Promise<number> {
    const { replays, letters } = this.parts;
    const records = recordsIn(await replays.unwaited(target, await ranges(target.eventType, window)));
    // An upper bound, because the envelopes of some dead letters may be newer than the window or no longer be in the log.
    return target.status === 'all' ? records : Math.min(records, await letters(target.webhookId, window.since));
  }

  /** Counts for several webhooks; the results are in the order of the targets. Asks Kafka once for each event type. */
  async countEach(targets: readonly ReplayTarget[], window: TimeWindow): Promise<Counted[]> {
    const ranges = this.#rangesOnce();
    const count = async (target: ReplayTarget): Promise<Counted> => {
      const id = await this.parts.replays.runningOf(target.webhookId);
      if (id !== undefined) return { kind: 'running', id };
      return { kind: 'counted', matched: await this.count(target, window, ranges) };
    };
    return Promise.all(targets.map(count));
  }

  /** Reports the replay and then orders it. If Kafka or Redis is unavailable, rejects and orders nothing. */
  async order(target: ReplayTarget, window: TimeWindow, actor: AskedBy): Promise<Ordered> {
    const store = await this.#report(target, window, actor, this.parts.ranges);
    return store();
  }

  /**
   * Orders replays for several webhooks; the results are in the order of the targets. Asks Kafka once for each event type.
   * All replays are reported before the first one is ordered.
   */
  async orderEach(targets: readonly ReplayTarget[], window: TimeWindow, actor: AskedBy): Promise<Ordered[]> {
    const ranges = this.#rangesOnce();
    const stores = await Promise.all(targets.map((target) => this.#report(target, window, actor, ranges)));
    return Promise.all(stores.map((store) => store()));
  }

  /** @returns a function that orders the reported replay */
  async #report(
    target: ReplayTarget,
    window: TimeWindow,
    actor: AskedBy,
    rangesOf: ReplayServiceParts['ranges'],
  ): Promise<() => Promise<Ordered>> {
    const { replays, audit, newId, now } = this.parts;
    // If another replay is under way, the order is refused here, before it is reported and before Kafka is asked. If two
    // orders arrive at the same time, both may be reported before one of them is refused.
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

  /** Returns a `ranges` function that asks Kafka once for each event type. All its calls must be for the same window. */
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

  /** Lists the replays of a partner, or only those of some of its webhooks. */
  async ofPartner(partnerId: string, paging: ReplayPaging, webhookIds?: readonly string[]): Promise<ReplayPage> {
    const { replays, now } = this.parts;
    if (webhookIds === undefined) return replays.ofPartner(partnerId, paging, now());
    const page = await replays.ofWebhooks(webhookIds, paging, now());
    return { ...page, replays: page.replays.filter((replay) => replay.partnerId === partnerId) };
  }

  find(id: string): Promise<ReplayStatus | undefined> {
    return this.parts.replays.find(id, this.parts.now());
  }

  /**
   * Cancels a running or paused replay. Deliveries that were already begun continue. Returns false if the replay had already
   * ended.
   */
  async cancel(id: string, actor: AskedBy): Promise<boolean> {
    const { replays, audit, now } = this.parts;
    const replay = await replays.find(id, now());
    if (replay?.state !== 'running' && replay?.state !== 'paused') return false;
    await audit.report({ event: 'replay.cancelled', ...actor, id });
    return replays.cancel(id, now());
  }

  /**
   * Pauses a running replay and then reports the pause. The pause comes first because it loses nothing, and because the
   * caller may be about to exit.
   * @param unreported called if Kafka does not store the report
   */
  async pause(id: string, actor: AskedBy, unreported: (error: unknown) => void): Promise<void> {
    const { replays, audit, now } = this.parts;
    if ((await replays.find(id, now()))?.state !== 'running' || !(await replays.pause(id, true))) return;
    // The error says that nothing was changed, which is wrong here, so only its cause is passed.
    await audit.report({ event: 'replay.paused', ...actor, id }).catch((error: Error) => unreported(error.cause));
  }

  /** Reports that a paused replay is resumed, and then resumes it. */
  async resume(id: string, actor: AskedBy): Promise<void> {
    const { replays, audit, now } = this.parts;
    if ((await replays.find(id, now()))?.state !== 'paused') return;
    await audit.report({ event: 'replay.resumed', ...actor, id });
    await replays.pause(id, false);
  }
}

/** Creates a service that uses Redis and Kafka. If no broker answers, orders reject with ProblemError `unavailable`. */
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
