import type { Operations } from '@relay/operations-client';
import { z } from 'zod';
import type { ListedWebhook } from '../operations.js';

export type Replay = Operations['readReplay']['responses'][200];

export interface FollowedReplay extends Replay {
  readonly id: string;
  /** Waits for its webhook to be enabled. */
  readonly isDisabled: boolean;
}

/** A date, which begins at midnight UTC, or a time with its zone: without a zone its meaning would depend on the machine. */
const Moment = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/** Epoch milliseconds; undefined for any other text, since `Date.parse` guesses: it reads `7` as 2001. */
export function readMoment(text: string): number | undefined {
  const read = Moment.safeParse(text);
  return read.success ? Date.parse(read.data) : undefined;
}

/** The time of the envelopes that are delivered again, as the operations app shows it; `null` where it is open. */
export interface Window {
  readonly since: string | null;
  readonly until: string | null;
}

export const windowOf = ({ since, until }: { since?: number; until?: number }): Window => ({
  since: since === undefined ? null : new Date(since).toISOString(),
  until: until === undefined ? null : new Date(until).toISOString(),
});

/** `from 2030-01-01T00:00:00.000Z until now`: the window as the command understood it. */
export function windowText({ since, until }: Window): string {
  const end = until === null ? 'until now' : `before ${until}`;
  return since === null ? end : `from ${since} ${end}`;
}

export type Step = { readonly webhookId: string } & (
  | { readonly kind: 'order' }
  | { readonly kind: 'go-on'; readonly replay: Replay }
  | { readonly kind: 'leave-out'; readonly why: string }
);

type PlannedWebhook = Pick<ListedWebhook, 'id' | 'status'>;

/** @param underWay replays that have not ended, including those of other webhooks */
export function planOf(webhooks: readonly PlannedWebhook[], underWay: readonly Replay[], window: Window): Step[] {
  const found = new Map(underWay.map((replay) => [replay.webhookId, replay]));
  return webhooks.map(({ id: webhookId, status }): Step => {
    const leaveOut = (why: string): Step => ({ webhookId, kind: 'leave-out', why });
    if (status === 'disabled')
      return leaveOut('is disabled and gets nothing; once it is enabled, the same command delivers');
    const replay = found.get(webhookId);
    if (replay === undefined) return { webhookId, kind: 'order' };
    return isSame(replay, window) ? { webhookId, kind: 'go-on', replay } : leaveOut(otherOf(replay));
  });
}

export const otherOf = (replay: Replay): string =>
  `has another replay under way, ${String(replay.id)}, ${orderedBy(replay)}; wait for it, or end it with --cancel --webhook ${replay.webhookId}`;

export const leftOut = (steps: readonly Step[]): { webhookId: string; why: string }[] =>
  steps.flatMap((step) => (step.kind === 'leave-out' ? [{ webhookId: step.webhookId, why: step.why }] : []));

export const leftOutText = ({ webhookId, why }: { webhookId: string; why: string }): string =>
  `left out: webhook ${webhookId} ${why}`;

export const leftToGoOn = (steps: readonly Step[]): number =>
  steps.reduce((sum, step) => {
    if (step.kind !== 'go-on') return sum;
    return sum + step.replay.matched - step.replay.done - step.replay.failed;
  }, 0);

/** Whether a call with this window continues the replay. An operator’s call never pauses a replay that a partner ordered. */
const isSame = ({ orderedBy: by, status, since, until }: Replay, window: Window): boolean =>
  by === 'operator' && status === 'all' && since === window.since && until === window.until;

const ORDERED_BY = { partner: 'ordered by its partner', operator: 'ordered by an operator' };

export const orderedBy = (replay: Replay): string => ORDERED_BY[replay.orderedBy];
