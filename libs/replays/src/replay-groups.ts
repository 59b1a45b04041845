import type { TimeWindow } from '@relay/kafka';
import type { ReplayGroupStore } from './replay-group-store.adapter.js';
import {
  groupStatus,
  type LeftOut,
  type PlannedReplay,
  type ReplayGroup,
  type ReplayGroupStatus,
} from './replay-group.js';
import { isUnderWay, recordsIn, type ReplayServiceParts, type ReplayTarget, timeOf } from './replay-service.js';
import type { ReplayStatus } from './replay-status.js';
import type { ReplayRange } from './replays.adapter.js';

/** The operator who orders, pauses, resumes or ends replays, and by which request. */
export interface GroupActor {
  readonly operator: string;
  readonly requestId: string;
}

export interface ReplayGroupParts extends ReplayServiceParts {
  readonly groups: ReplayGroupStore;
}

/** The steps of an order, and what it needs from Kafka. */
export interface ReplayGroupPlan {
  readonly window: TimeWindow;
  readonly status: ReplayStatus['status'];
  readonly steps: readonly (PlannedReplay & { readonly ranges: readonly ReplayRange[] })[];
  readonly leftOut: readonly LeftOut[];
}

/**
 * Orders replays of several webhooks at once, and changes them together. Each of them is the replay that it would be alone: a
 * webhook that has another one under way is left out and named.
 */
export class ReplayGroups {
  constructor(private readonly parts: ReplayGroupParts) {}

  /**
   * What an order would do, webhook by webhook. Kafka is asked once for each event type. Rejects while Kafka or Redis is away.
   * @param leftOut webhooks that the caller knows to be impossible
   */
  async plan(
    targets: readonly ReplayTarget[],
    window: TimeWindow,
    status: ReplayStatus['status'],
    leftOut: readonly LeftOut[],
  ): Promise<ReplayGroupPlan> {
    const { replays, ranges: rangesOf, letters } = this.parts;
    const running = await Promise.all(targets.map(({ webhookId }) => replays.runningOf(webhookId)));
    const wanted = targets.filter((_, index) => running[index] === undefined);
    const types = [...new Set(wanted.map(({ eventType }) => eventType))];
    const found = new Map(await Promise.all(types.map(async (type) => [type, await rangesOf(type, window)] as const)));
    const steps = await Promise.all(
      wanted.map(async (target) => {
        const ranges = await replays.unwaited(target, found.get(target.eventType) ?? []);
        const records = recordsIn(ranges);
        const dead = status === 'all' ? records : await letters(target.webhookId, window.since);
        return { target, ranges, matched: Math.min(records, dead) };
      }),
    );
    const busy = targets.flatMap(({ webhookId }, index) => busyWith(webhookId, running[index]));
    return { window, status, steps, leftOut: [...leftOut, ...busy] };
  }

  /** Reports the replays in one record, then orders them. A webhook that got another one since the plan is left out. */
  async order({ window, status, steps, leftOut }: ReplayGroupPlan, actor: GroupActor): Promise<ReplayGroupStatus> {
    const { replays, groups, audit, newId, now } = this.parts;
    const id = newId();
    const planned = steps.map(({ target, matched }) => ({ id: newId(), webhookId: target.webhookId, matched }));
    const webhookIds = planned.map(({ webhookId }) => webhookId);
    const times = { since: timeOf(window.since), until: timeOf(window.until) };
    await audit.report({ event: 'replays.ordered', ...actor, id, status, ...times, webhookIds });
    const group: ReplayGroup = { id, status, ...window, createdAt: now(), replays: planned, leftOut: [...leftOut] };
    // Before its replays, so that those of a killed process can be told and ended together.
    await groups.write(group);
    const late: LeftOut[] = [];
    for (const [index, { target, ranges }] of steps.entries()) {
      const order = { id: planned[index]?.id ?? '', ...target, ...window, orderedBy: 'operator', groupId: id } as const;
      late.push(...busyWith(target.webhookId, await replays.create(order, ranges, now())));
    }
    const isLate = new Set(late.map(({ webhookId }) => webhookId));
    const left = planned.filter(({ webhookId }) => !isLate.has(webhookId));
    const stored = { ...group, replays: left, leftOut: [...leftOut, ...late] };
    if (late.length > 0) await groups.write(stored);
    const found = await Promise.all(left.map((replay) => replays.ordered(replay.id, now())));
    return groupStatus(stored, found, now());
  }

  /** Undefined for an unknown or expired group. */
  async find(id: string): Promise<ReplayGroupStatus | undefined> {
    const { replays, groups, now } = this.parts;
    const group = await groups.read(id);
    if (group === undefined) return undefined;
    const found = await Promise.all(group.replays.map((replay) => replays.find(replay.id, now())));
    return groupStatus(group, found, now());
  }

  /** Reports the end, then ends what is under way. False when nothing was. */
  async cancel(id: string, actor: GroupActor): Promise<boolean> {
    const { replays, audit, now } = this.parts;
    const underWay = await this.#in(id, isUnderWay);
    if (underWay.length === 0) return false;
    await audit.report({ event: 'replays.cancelled', ...actor, id });
    for (const replay of underWay) await replays.cancel(replay.id, now());
    return true;
  }

  /**
   * Pauses what is running, then reports that: a pause loses nothing.
   * @param unreported called when Kafka does not take the report
   */
  async pause(id: string, actor: GroupActor, unreported: (error: unknown) => void): Promise<void> {
    const { replays, audit } = this.parts;
    const running = await this.#in(id, ({ state }) => state === 'running');
    const paused: boolean[] = [];
    for (const replay of running) paused.push(await replays.pause(replay.id, true));
    if (!paused.includes(true)) return;
    await audit.report({ event: 'replays.paused', ...actor, id }).catch((error: Error) => unreported(error.cause));
  }

  /** Reports the resumption of what is paused, then resumes it. */
  async resume(id: string, actor: GroupActor): Promise<void> {
    const { replays, audit } = this.parts;
    const paused = await this.#in(id, ({ state }) => state === 'paused');
    if (paused.length === 0) return;
    await audit.report({ event: 'replays.resumed', ...actor, id });
    for (const replay of paused) await replays.pause(replay.id, false);
  }

  async #in(id: string, is: (replay: ReplayStatus) => boolean): Promise<readonly ReplayStatus[]> {
    return (await this.find(id))?.known.filter(is) ?? [];
  }
}

const busyWith = (webhookId: string, replayId: string | undefined): LeftOut[] =>
  replayId === undefined ? [] : [{ webhookId, why: 'running', replayId }];
