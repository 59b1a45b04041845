import { z } from 'zod';
import { isUnderWay, type ReplayTarget } from './replay-service.js';
import type { ReplayStatus } from './replay-status.js';

/** Why a webhook got no replay. */
export const LEFT_OUT = ['unknown', 'disabled', 'running'] as const;

export const LeftOut = z.object({
  webhookId: z.string(),
  why: z
    .enum(LEFT_OUT)
    .describe(
      '`unknown`: it is not registered; `disabled`: it gets nothing until it is enabled; `running`: it has another replay under way.',
    ),
  replayId: z.string().nullable().describe('The other replay.'),
});
export type LeftOut = z.infer<typeof LeftOut>;

/** Replays of several webhooks that were ordered at once, as stored. Times in epoch milliseconds. */
export const ReplayGroup = z.object({
  id: z.string(),
  status: z.enum(['all', 'failed']),
  since: z.number().optional(),
  until: z.number().optional(),
  createdAt: z.number(),
  /** `matched`: an upper bound when it was ordered. */
  replays: z.array(z.object({ id: z.string(), webhookId: z.string(), matched: z.number() })),
  leftOut: z.array(LeftOut),
});
export type ReplayGroup = z.infer<typeof ReplayGroup>;

/** What an order would do for one webhook. */
export interface PlannedReplay {
  readonly target: ReplayTarget;
  /** Upper bound of its deliveries. */
  readonly matched: number;
}

export interface ReplayGroupStatus
  extends ReplayGroup, Pick<ReplayStatus, 'state' | 'done' | 'failed' | 'ratePerSecond' | 'secondsLeft' | 'endedAt'> {
  /** The sum of the deliveries of its replays. */
  readonly matched: number;
  /** Its replays that Redis still knows. */
  readonly known: readonly ReplayStatus[];
  /** Webhooks whose replay was reported but never stored, because the process was killed in between. */
  readonly missing: readonly string[];
}

/** @param found the replays of the group, in its order; undefined for one that is not stored */
export function groupStatus(
  group: ReplayGroup,
  found: readonly (ReplayStatus | undefined)[],
  now: number,
): ReplayGroupStatus {
  const known = found.filter((replay) => replay !== undefined);
  // A replay without deliveries is forgotten after ten minutes.
  const missing = group.replays.filter(({ matched }, index) => matched > 0 && found[index] === undefined);
  const underWay = known.filter(isUnderWay);
  const endedAt =
    underWay.length > 0 ? undefined : Math.max(group.createdAt, ...known.map((each) => each.endedAt ?? 0));
  const [done, failed] = [sum(known, (replay) => replay.done), sum(known, (replay) => replay.failed)];
  return {
    ...group,
    state: stateOf(known),
    matched: sum(known, ({ matched }) => matched),
    done,
    failed,
    ratePerSecond: (done + failed) / (Math.max(1, (endedAt ?? now) - group.createdAt) / 1_000),
    // The last of them ends the group.
    secondsLeft: underWay.some(({ secondsLeft }) => secondsLeft === undefined)
      ? undefined
      : Math.max(0, ...underWay.map(({ secondsLeft = 0 }) => secondsLeft)),
    endedAt,
    known,
    missing: missing.map(({ webhookId }) => webhookId),
  };
}

function stateOf(known: readonly ReplayStatus[]): ReplayStatus['state'] {
  const states = new Set(known.map(({ state }) => state));
  if (states.has('running')) return 'running';
  if (states.has('paused')) return 'paused';
  return states.size === 1 && states.has('cancelled') ? 'cancelled' : 'done';
}

const sum = <T>(items: readonly T[], of: (item: T) => number): number =>
  items.reduce((total, item) => total + of(item), 0);
