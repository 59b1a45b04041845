import { Audit } from '@relay/audit';
import type { EnvelopeType } from '@relay/events';
import { KeptAdmin, type TimeWindow } from '@relay/kafka';
import { openReplayService, Replays, type ReplayScope, type ReplayStatus } from '@relay/replays';
import { RedisWebhookStore, RedisWebhookView } from '@relay/webhooks';
import { keyringOf } from '../keyring.adapter.js';
import { withRegistry } from '../registry.adapter.js';
import { counted, timeOf } from '../table.js';
import type { Shell } from '../shell.js';
import type { FollowedReplay } from './follow.js';
import { leftOutText, orderedBy, otherOf, planOf, type Step } from './replay-plan.js';

/** The actor that `relay.operations` names for commands of an operator. */
const ACTOR = { operator: 'relay replay' };
const REPORT_EVERY_MS = 2_000;

type Note = (text: string) => void;

/** The steps of a call, by webhook. */
export interface ReplayPlan extends ReplayScope {
  readonly window: TimeWindow;
  readonly steps: readonly Step[];
}

/** The replays of one event type, or of one webhook of it. */
export interface ReplayRun {
  /**
   * Continues this command’s running replays of the same window and orders the missing ones. Disabled webhooks, and
   * those with another running replay, including one that a partner ordered, get none.
   */
  plan(window: TimeWindow): Promise<ReplayPlan>;
  /** @returns the ids of continued and ordered replays; fewer when `signal` fired first */
  order(plan: ReplayPlan, note: Note, signal: AbortSignal): Promise<string[]>;
  read(ids: readonly string[]): Promise<FollowedReplay[]>;
  /** Pauses the replays, even when Kafka does not take the report. */
  pause(ids: readonly string[], note: Note): Promise<void>;
  /** Cancels all running replays and reports those that partners ordered. @returns their number */
  cancel(note: Note): Promise<number>;
}

/** @throws Error when no such webhook is registered */
export function withReplays<T>(
  shell: Shell,
  { type, webhook }: { readonly type: EnvelopeType; readonly webhook?: string },
  work: (run: ReplayRun) => Promise<T>,
): Promise<T> {
  const keyring = keyringOf(shell);
  return withRegistry(shell, async ({ redis, shards, kafka, registry, publisher, settings }) => {
    const { KAFKA_TOPIC_PREFIX: prefix } = settings;
    const view = new RedisWebhookView(redis, registry.of('webhook'), keyring);
    await view.reload();
    const wanted = view.matching(type, []).filter(({ id }) => webhook === undefined || id === webhook.toLowerCase());
    if (wanted.length === 0)
      throw new Error(`No webhook ${webhook ?? ''} is registered for ${type}`.replace('  ', ' '));
    const isWanted = ({ webhookId }: ReplayStatus): boolean => wanted.some(({ id }) => id === webhookId);
    const items = new RedisWebhookStore(redis, registry.of('webhook'), keyring);
    const admin = new KeptAdmin(kafka);
    const desk = openReplayService(shards, admin, new Audit(publisher, prefix, Date.now), prefix);
    const followed = async (id: string): Promise<FollowedReplay | undefined> => {
      const replay = await desk.find(id);
      if (replay === undefined) return undefined;
      const registered = await items.find(replay.partnerId, replay.webhookId);
      return { ...replay, isDisabled: registered?.details.status === 'disabled' };
    };
    /** @returns the id of the replay; undefined for a webhook that is left out */
    const take = async (step: Step, { window, ...sight }: ReplayPlan, note: Note): Promise<string | undefined> => {
      const { webhookId, partnerId } = step;
      const leaveOut = (why: string): undefined => {
        note(leftOutText({ webhookId, why }));
      };
      if (step.kind === 'leave-out') return leaveOut(step.why);
      if (step.kind === 'go-on') {
        const { id, createdAt } = step.replay;
        note(`continuing ${id}, ordered ${timeOf(createdAt)}, to webhook ${webhookId}`);
        await desk.resume(id, ACTOR);
        return id;
      }
      const ordered = await desk.order({ webhookId, partnerId, eventType: type, status: 'all' }, window, ACTOR, sight);
      if (ordered.kind === 'ordered') return ordered.replay.id;
      const other = await desk.find(ordered.id);
      return leaveOut(other === undefined ? 'had another replay under way' : otherOf(other));
    };
    const run: ReplayRun = {
      plan: async (window) => {
        const sight = await desk.look(type, window);
        return { ...sight, window, steps: planOf(wanted, sight.underWay, window) };
      },
      order: async (plan, note, signal) => {
        const ids: string[] = [];
        let reportedAt = Date.now();
        try {
          for (const [index, step] of plan.steps.entries()) {
            if (signal.aborted) {
              note(`${counted(plan.steps.length - index, 'webhook')} not ordered for: the same command continues`);
              break;
            }
            if (Date.now() - reportedAt > REPORT_EVERY_MS) {
              note(`ordered for ${index} of ${counted(plan.steps.length, 'webhook')}`);
              reportedAt = Date.now();
            }
            const id = await take(step, plan, note);
            if (id !== undefined) ids.push(id);
          }
          return ids;
        } catch (error) {
          if (ids.length > 0) note(`${counted(ids.length, 'replay')} under way by now: the same command continues`);
          throw error;
        }
      },
      read: async (ids) => (await Promise.all(ids.map(followed))).filter((replay) => replay !== undefined),
      pause: async (ids, note) => {
        const untold: unknown[] = [];
        await Promise.all(ids.map((id) => desk.pause(id, ACTOR, (error) => untold.push(error))));
        if (untold.length > 0)
          note(
            `warning: ${counted(untold.length, 'replay')} paused, but Kafka did not take the report of it for relay.operations`,
          );
      },
      cancel: async (note) => {
        let cancelled = 0;
        for (const replay of (await new Replays(redis, shards).underWay(Date.now())).filter(isWanted)) {
          if (!(await desk.cancel(replay.id, ACTOR))) continue;
          cancelled += 1;
          if (replay.orderedBy !== 'operator')
            note(`ended ${replay.id}, ${orderedBy(replay)}, to webhook ${replay.webhookId}`);
        }
        return cancelled;
      },
    };
    try {
      return await work(run);
    } finally {
      await admin.close();
    }
  });
}
