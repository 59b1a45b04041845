import type { EnvelopeType } from '@relay/events';
import type { OperationsClient } from '@relay/operations-client';
import { isRefused, MOST_LISTED, webhooksOf, type ListedWebhook } from '../operations.js';
import { counted } from '../shell.js';
import {
  leftOutText,
  leftToGoOn,
  orderedBy,
  otherOf,
  planOf,
  type FollowedReplay,
  type Replay,
  type Step,
  type Window,
} from './replay-plan.js';

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

  /** @throws Error when no such webhook is registered */
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
   * Continues this command’s running replays of the same window and orders the missing ones. Disabled webhooks, and those with
   * another running replay, including one that a partner ordered, get none.
   */
  async plan(window: Window): Promise<ReplayPlan> {
    return { window, steps: planOf(this.webhooks, await this.#underWay(), window) };
  }

  /** Upper bound of the deliveries. */
  async count({ window, steps }: ReplayPlan): Promise<number> {
    let matched = leftToGoOn(steps);
    for (const step of steps.filter(({ kind }) => kind === 'order'))
      matched += (await this.#replay({ ...orderOf(step, window), dryRun: true })).matched;
    return matched;
  }

  /** @returns the ids of continued and ordered replays; fewer when `signal` fired first */
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

  /** Cancels all running replays and reports those that partners ordered. @returns their number */
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
      states.map((state) => this.api.all('listReplays', { query: { state, limit: MOST_LISTED } }, ({ replays }) => replays)),
    );
    return found.flat();
  }

  /** Orders or counts the replay of one webhook, which is answered by it. */
  async #replay(body: { readonly webhook: string; readonly dryRun?: boolean }): Promise<Replay> {
    return (await this.api.call('orderReplay', { body })) as Replay;
  }

  /** @returns the id of the replay; undefined for a webhook that is left out */
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

/** A replay that ended meanwhile, or that Redis has lost, is as it should be: the report says which. */
function unlessEnded(error: unknown): void {
  if (!isRefused(error, 409) && !isRefused(error, 404)) throw error;
}
