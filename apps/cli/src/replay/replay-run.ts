import type { EnvelopeType } from '@relay/events';
import type { Operations, OperationsClient } from '@relay/operations-client';
import { z } from 'zod';
import { isRefused, type ListedWebhook, MOST_LISTED, webhooksOf } from '../operations.js';
import { counted } from '../shell.js';

const REPORT_EVERY_MS = 2_000;

type Note = (text: string) => void;

export interface ReplayPlan {
  readonly window: Window;
  readonly steps: readonly Step[];
}

export class ReplayRun {
  private constructor(
    private readonly api: OperationsClient,
    private readonly type: EnvelopeType,
    private readonly webhooks: readonly ListedWebhook[],
  ) {}

  /** @throws Error if no webhook, or not the wanted one, is registered for the type */
  static async of(
    api: OperationsClient,
    { type, webhook }: { readonly type: EnvelopeType; readonly webhook?: string },
  ): Promise<ReplayRun> {
    const all = await webhooksOf(api, { eventType: type });
    const wanted = all.filter(({ id }) => webhook === undefined || id === webhook.toLowerCase());
    if (wanted.length === 0)
      throw new Error(`No webhook ${webhook ?? ''} is registered for ${type}`.replace('  ', ' '));
    return new ReplayRun(api, type, wanted);
  }

  /**
   * Plans a step for each webhook. If an earlier run of this command ordered a replay of the same window that has not ended,
   * the replay is continued; otherwise a new replay is ordered. A webhook is left out if it is disabled, or has another
   * replay under way, for example one that a partner ordered.
   */
  async plan(window: Window): Promise<ReplayPlan> {
    return { window, steps: planOf(this.webhooks, await this.#underWay(), window) };
  }

  /** Returns the maximum number of deliveries. */
  async count({ window, steps }: ReplayPlan): Promise<number> {
    let matched = leftToGoOn(steps);
    for (const step of steps.filter(({ kind }) => kind === 'order'))
      matched += (await this.#replay({ ...orderOf(step, window), dryRun: true })).matched;
    return matched;
  }

  /** @returns the ids of the replays that were continued or ordered; not all of them if `signal` fires before the end */
  async order({ steps, window }: ReplayPlan, note: Note, signal: AbortSignal): Promise<string[]> {
    const ids: string[] = [];
    let reportedAt = Date.now();
    try {
      for (const [index, step] of steps.entries()) {
        if (signal.aborted) {
          note(`${counted(steps.length - index, 'webhook')} not ordered for: the same command continues`);
          break;
        }
        if (Date.now() - reportedAt > REPORT_EVERY_MS) {
          note(`ordered for ${index} of ${counted(steps.length, 'webhook')}`);
          reportedAt = Date.now();
        }
        const id = await this.#take(step, window, note);
        if (id !== undefined) ids.push(id);
      }
      return ids;
    } catch (error) {
      if (ids.length > 0) note(`${counted(ids.length, 'replay')} under way by now: the same command continues`);
      throw error;
    }
  }

  async read(ids: readonly string[]): Promise<FollowedReplay[]> {
    const [{ replays }, disabled] = await Promise.all([
      this.api.call('listReplays', { query: { limit: MOST_LISTED } }),
      webhooksOf(this.api, { eventType: this.type, status: 'disabled' }),
    ]);
    const found = new Map(replays.map((replay) => [replay.id, replay]));
    const isDisabled = new Set(disabled.map(({ id }) => id));
    return ids.flatMap((id) => {
      const replay = found.get(id);
      return replay === undefined ? [] : [{ ...replay, id, isDisabled: isDisabled.has(replay.webhookId) }];
    });
  }

  async pause(ids: readonly string[]): Promise<void> {
    for (const id of ids) await this.api.call('pauseReplay', { path: { id } }).catch(unlessEnded);
  }

  /** Cancels all replays that are under way, and notes each replay that a partner ordered. @returns the number of replays */
  async cancel(note: Note): Promise<number> {
    const wanted = new Set(this.webhooks.map(({ id }) => id));
    let cancelled = 0;
    for (const replay of (await this.#underWay()).filter(({ webhookId }) => wanted.has(webhookId))) {
      await this.api.call('cancelReplay', { path: { id: String(replay.id) } });
      cancelled += 1;
      if (replay.orderedBy !== 'operator')
        note(`ended ${String(replay.id)}, ${orderedBy(replay)}, to webhook ${replay.webhookId}`);
    }
    return cancelled;
  }

  async #underWay(): Promise<Replay[]> {
    const states = ['running', 'paused'] as const;
    const found = await Promise.all(
      states.map((state) =>
        this.api.all('listReplays', { query: { state, limit: MOST_LISTED } }, ({ replays }) => replays),
      ),
    );
    return found.flat();
  }

  /**
   * Orders or counts the replay of one webhook. If a request names one webhook, the answer is its replay, so the cast is
   * safe.
   */
  async #replay(body: { readonly webhook: string; readonly dryRun?: boolean }): Promise<Replay> {
    return (await this.api.call('orderReplay', { body })) as Replay;
  }

  /** @returns the id of the replay; undefined if the webhook is left out */
  async #take(step: Step, window: Window, note: Note): Promise<string | undefined> {
    const { webhookId } = step;
    const leaveOut = (why: string): undefined => {
      note(leftOutText({ webhookId, why }));
    };
    if (step.kind === 'leave-out') return leaveOut(step.why);
    if (step.kind === 'go-on') {
      const id = String(step.replay.id);
      note(`continuing ${id}, ordered ${step.replay.createdAt}, to webhook ${webhookId}`);
      await this.api.call('resumeReplay', { path: { id } }).catch(unlessEnded);
      return id;
    }
    try {
      return String((await this.#replay(orderOf(step, window))).id);
    } catch (error) {
      if (!isRefused(error, 409)) throw error;
      const other = (await this.#underWay()).find((replay) => replay.webhookId === webhookId);
      return leaveOut(other === undefined ? `gets none: ${error.message}` : otherOf(other));
    }
  }
}

const orderOf = ({ webhookId: webhook }: Step, { since, until }: Window) => ({
  webhook,
  status: 'all' as const,
  since: since ?? undefined,
  until: until ?? undefined,
});

/** For `catch`: ignores the error if the replay has ended meanwhile or is lost. The report shows this later. */
function unlessEnded(error: unknown): void {
  if (!isRefused(error, 409) && !isRefused(error, 404)) throw error;
}

export type Replay = Operations['readReplay']['responses'][200];

export interface FollowedReplay extends Replay {
  readonly id: string;
  /** Whether the webhook is disabled, so the replay waits until the webhook is enabled. */
  readonly isDisabled: boolean;
}

/** A date, which means midnight UTC, or a time with a zone. Without a zone, the meaning of a time depends on the machine. */
const Moment = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/**
 * Returns epoch milliseconds; undefined for any other text. `Date.parse` alone guesses, for example it reads `7` as 2001.
 */
export function readMoment(text: string): number | undefined {
  const read = Moment.safeParse(text);
  return read.success ? Date.parse(read.data) : undefined;
}

/** The time range of the envelopes that are delivered again, as the operations app shows it. `null` means no limit. */
interface Window {
  readonly since: string | null;
  readonly until: string | null;
}

export const windowOf = ({ since, until }: { since?: number; until?: number }): Window => ({
  since: since === undefined ? null : new Date(since).toISOString(),
  until: until === undefined ? null : new Date(until).toISOString(),
});

/** Describes the window as the command understood it, for example `from 2030-01-01T00:00:00.000Z until now`. */
export function windowText({ since, until }: Window): string {
  const end = until === null ? 'until now' : `before ${until}`;
  return since === null ? end : `from ${since} ${end}`;
}

type Step = { readonly webhookId: string } & (
  | { readonly kind: 'order' }
  | { readonly kind: 'go-on'; readonly replay: Replay }
  | { readonly kind: 'leave-out'; readonly why: string }
);

type PlannedWebhook = Pick<ListedWebhook, 'id' | 'status'>;

/** @param underWay the replays that have not ended, including replays of other webhooks */
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

const otherOf = (replay: Replay): string =>
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

/**
 * Whether the command continues this replay for this window. It never continues a replay that a partner ordered, so Ctrl-C
 * never pauses such a replay either.
 */
const isSame = ({ orderedBy: by, status, since, until }: Replay, window: Window): boolean =>
  by === 'operator' && status === 'all' && since === window.since && until === window.until;

const ORDERED_BY = { partner: 'ordered by its partner', operator: 'ordered by an operator' };

const orderedBy = (replay: Replay): string => ORDERED_BY[replay.orderedBy];
