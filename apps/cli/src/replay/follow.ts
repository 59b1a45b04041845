import { setTimeout as delay } from 'node:timers/promises';
import type { Operations } from '@relay/operations-client';
import type { Progress } from '../shown-progress.js';

const LOOK_MS = 500;

export type Replay = Operations['readReplay']['responses'][200];

export interface FollowedReplay extends Replay {
  readonly id: string;
  /** Waits for its webhook to be enabled. */
  readonly isDisabled: boolean;
}

type Read = (ids: readonly string[]) => Promise<readonly FollowedReplay[]>;

/**
 * Shows the progress of replays until each has ended, is paused by another call, or waits. Progress counts records
 * looked at, some of which need no delivery.
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

export type ReplayReport = ReturnType<typeof totalOf>;

/** The results of replays, as the command prints them. `lost` has the ids that Redis no longer knows. */
export function totalOf(ids: readonly string[], found: readonly FollowedReplay[], now = Date.now()) {
  const begun = Math.min(now, ...found.map(({ createdAt }) => Date.parse(createdAt)));
  const ended = Math.max(begun, ...found.map(({ endedAt }) => (endedAt === null ? now : Date.parse(endedAt))));
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

const leftOf = (found: readonly Replay[]): number => sum(found, ({ matched, done, failed }) => matched - done - failed);

const sum = (found: readonly Replay[], of: (replay: Replay) => number): number =>
  found.reduce((total, replay) => total + of(replay), 0);
