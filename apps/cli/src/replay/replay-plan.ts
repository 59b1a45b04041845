import type { Listed } from '../webhooks/listed.js';
import type { Replay } from './follow.js';
import type { Window } from './replay-window.js';

/** The step of a call for one webhook. */
export type Step = { readonly webhookId: string } & (
  | { readonly kind: 'order' }
  | { readonly kind: 'go-on'; readonly replay: Replay }
  | { readonly kind: 'leave-out'; readonly why: string }
);

type PlannedWebhook = Pick<Listed, 'id' | 'status'>;

/** @param underWay replays that have not ended, including those of other webhooks */
export function planOf(webhooks: readonly PlannedWebhook[], underWay: readonly Replay[], window: Window): Step[] {
  const found = new Map(underWay.map((replay) => [replay.webhookId, replay]));
  return webhooks.map(({ id: webhookId, status }): Step => {
    const of = { webhookId };
    if (status === 'disabled')
      return {
        ...of,
        kind: 'leave-out',
        why: 'is disabled and gets nothing; once it is enabled, the same command delivers',
      };
    const replay = found.get(webhookId);
    if (replay === undefined) return { ...of, kind: 'order' };
    return isSame(replay, window)
      ? { ...of, kind: 'go-on', replay }
      : { ...of, kind: 'leave-out', why: otherOf(replay) };
  });
}

/** Why a webhook with this running replay is left out. */
export const otherOf = (replay: Replay): string =>
  `has another replay under way, ${String(replay.id)}, ${orderedBy(replay)}; wait for it, or end it with --cancel --webhook ${replay.webhookId}`;

export const leftOut = (steps: readonly Step[]): { webhookId: string; why: string }[] =>
  steps.flatMap((step) => (step.kind === 'leave-out' ? [{ webhookId: step.webhookId, why: step.why }] : []));

export const leftOutText = ({ webhookId, why }: { webhookId: string; why: string }): string =>
  `left out: webhook ${webhookId} ${why}`;

/** Deliveries that are left to the replays that go on. */
export const leftToGoOn = (steps: readonly Step[]): number =>
  steps.reduce((sum, step) => {
    if (step.kind !== 'go-on') return sum;
    return sum + step.replay.matched - step.replay.done - step.replay.failed;
  }, 0);

/**
 * Whether a call with this window continues the replay. An operator’s call never pauses a replay that a partner
 * ordered.
 */
const isSame = ({ orderedBy: by, status, since, until }: Replay, window: Window): boolean =>
  by === 'operator' && status === 'all' && since === window.since && until === window.until;

const ORDERED_BY = { partner: 'ordered by its partner', operator: 'ordered by an operator' };

export const orderedBy = (replay: Replay): string => ORDERED_BY[replay.orderedBy];
