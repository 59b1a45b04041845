import { setTimeout as delay } from 'node:timers/promises';
import type { ReplayStatus } from '@relay/replays';
import type { Progress } from '../shown-progress.js';

const LOOK_MS = 500;

/** What became of replays, as the command prints it. */
export interface ReplayReport {
  readonly replays: readonly Pick<
    FollowedReplay,
    'id' | 'webhookId' | 'isDisabled' | 'state' | 'matched' | 'done' | 'failed'
  >[];
  /** Ids of those that Redis does not know any more. */
  readonly lost: readonly string[];
  readonly matched: number;
  readonly done: number;
  readonly failed: number;
  /** From the first one's order to the last one's end, or until now. */
  readonly seconds: number;
}

export interface FollowedReplay extends ReplayStatus {
  /** It waits until its webhook is enabled. */
  readonly isDisabled: boolean;
}

type Read = (ids: readonly string[]) => Promise<readonly FollowedReplay[]>;

/**
 * Shows how far replays are until none of them goes on: each has ended, or was held up by another call, or waits. That is how many
 * records have been looked at: of some there is nothing to deliver.
 */
export async function follow(ids: readonly string[], read: Read, shown: Progress): Promise<void> {
  let found = await read(ids);
  const records = sum(found, (replay) => replay.matched);
  let before = records - leftOf(found);
  shown.begin('delivering again', records, before);
  for (; ; found = await read(ids)) {
    const lookedAt = records - leftOf(found);
    if (lookedAt > before) shown.done(lookedAt - before);
    before = lookedAt;
    if (!found.some(goesOn)) return;
    await delay(LOOK_MS);
  }
}

/** @param now epoch milliseconds */
export function totalOf(ids: readonly string[], found: readonly FollowedReplay[], now = Date.now()): ReplayReport {
  const begun = Math.min(now, ...found.map(({ createdAt }) => createdAt));
  const ended = Math.max(begun, ...found.map(({ endedAt }) => endedAt ?? now));
  return {
    replays: found.map(({ id, webhookId, isDisabled, state, matched, done, failed }) => ({
      id,
      webhookId,
      isDisabled,
      state,
      matched,
      done,
      failed,
    })),
    lost: ids.filter((id) => !found.some((replay) => replay.id === id)),
    matched: sum(found, ({ matched }) => matched),
    done: sum(found, ({ done }) => done),
    failed: sum(found, ({ failed }) => failed),
    seconds: Math.round((ended - begun) / 100) / 10,
  };
}

const goesOn = ({ state, isDisabled }: FollowedReplay): boolean => state === 'running' && !isDisabled;

const leftOf = (found: readonly ReplayStatus[]): number =>
  sum(found, ({ matched, done, failed }) => matched - done - failed);

const sum = (found: readonly ReplayStatus[], of: (replay: ReplayStatus) => number): number =>
  found.reduce((total, replay) => total + of(replay), 0);
