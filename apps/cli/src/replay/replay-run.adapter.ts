import { keyringEnv } from '@relay/config';
import type { EventType } from '@relay/events';
import type { TimeWindow } from '@relay/kafka';
import { Keyring } from '@relay/keyring';
import { Audit, openReplayDesk } from '@relay/operations';
import { Replays, type ReplayStatus } from '@relay/progress';
import { RedisWebhookItems, RedisWebhookView } from '@relay/webhooks';
import { withRegistry } from '../registry.adapter.js';
import { settingsOf } from '../settings.js';
import { counted } from '../table.js';
import type { Shell } from '../shell.js';
import type { FollowedReplay } from './follow.js';

/** Who is told to have ordered what an operator does here. */
const ACTOR = { operator: 'relay replay' };

/** The replays of one event type, or of one webhook of it. */
export interface ReplayRun {
  /** How many webhooks are meant. */
  readonly webhooks: number;
  count(window: TimeWindow): Promise<number>;
  /**
   * Goes on with those of the same time that this command ordered and are under way, orders the others. A webhook that is disabled or
   * has another under way gets none; so it is with whatever its partner ordered. @returns the ids of all but those, and how many there are of those
   */
  order(window: TimeWindow, note: (text: string) => void): Promise<{ ids: string[]; others: number }>;
  read(ids: readonly string[]): Promise<FollowedReplay[]>;
  pause(ids: readonly string[]): Promise<void>;
  /** Ends whatever is under way, and tells of what no operator ordered. @returns how many that were */
  cancel(note: (text: string) => void): Promise<number>;
}

/** @throws Error when no such webhook is registered */
export function withReplays<T>(
  shell: Shell,
  { type, webhook }: { readonly type: EventType; readonly webhook?: string },
  work: (run: ReplayRun) => Promise<T>,
): Promise<T> {
  const keyring = Keyring.parse(settingsOf(shell, keyringEnv).ENCRYPTION_KEYS);
  return withRegistry(shell, async ({ redis, kafka, registry, publisher, settings }) => {
    const { KAFKA_TOPIC_PREFIX: prefix } = settings;
    const view = new RedisWebhookView(redis, registry.of('webhook'), keyring);
    await view.reload();
    const wanted = view.matching(type, []).filter(({ id }) => webhook === undefined || id === webhook.toLowerCase());
    if (wanted.length === 0)
      throw new Error(`No webhook ${webhook ?? ''} is registered for ${type}`.replace('  ', ' '));
    const isWanted = ({ webhookId }: ReplayStatus): boolean => wanted.some(({ id }) => id === webhookId);
    const items = new RedisWebhookItems(redis, registry.of('webhook'), keyring, Date.now);
    const replays = new Replays(redis);
    const desk = openReplayDesk(redis, kafka, new Audit(publisher, prefix, Date.now), prefix);
    const underWay = async (): Promise<ReplayStatus[]> => (await replays.underWay(Date.now())).filter(isWanted);
    const followed = async (id: string): Promise<FollowedReplay | undefined> => {
      const replay = await desk.find(id);
      if (replay === undefined) return undefined;
      const registered = await items.find(replay.partnerId, replay.webhookId);
      return { ...replay, isDisabled: registered?.details.status === 'disabled' };
    };
    return work({
      webhooks: wanted.length,
      count: (window) => desk.count(type, window),
      order: async (window, note) => {
        const found = new Map((await underWay()).map((replay) => [replay.webhookId, replay]));
        const ids: string[] = [];
        for (const { id: webhookId, partnerId, status } of wanted) {
          if (status === 'disabled') {
            note(
              `left out: webhook ${webhookId} is disabled and gets nothing; once it is enabled, the same call delivers`,
            );
            continue;
          }
          const known = found.get(webhookId);
          if (known !== undefined && isSame(known, window)) {
            const orderedAt = new Date(known.createdAt).toISOString();
            note(`going on with ${known.id}, ordered ${orderedAt}, to webhook ${webhookId}`);
            await replays.pause(known.id, false);
            ids.push(known.id);
            continue;
          }
          const ordered =
            known === undefined
              ? await desk
                  .order({ webhookId, partnerId, eventType: type, status: 'all' }, window, ACTOR)
                  .catch((error: unknown) => {
                    if (ids.length > 0)
                      note(`${counted(ids.length, 'replay')} under way by now: the same call goes on`);
                    throw error;
                  })
              : { kind: 'running' as const, id: known.id };
          if (ordered.kind === 'ordered') ids.push(ordered.replay.id);
          else {
            const other = `${ordered.id}, ${orderedBy(known ?? (await desk.find(ordered.id)))}`;
            note(
              `left out: webhook ${webhookId} has another replay under way, ${other}; wait for it, or end it with --cancel --webhook ${webhookId}`,
            );
          }
        }
        return { ids, others: wanted.length - ids.length };
      },
      read: async (ids) => (await Promise.all(ids.map(followed))).filter((replay) => replay !== undefined),
      pause: async (ids) => {
        for (const id of ids) await replays.pause(id, true);
      },
      cancel: async (note) => {
        const all = await underWay();
        for (const replay of all) {
          await desk.cancel(replay.id, ACTOR);
          if (replay.orderedBy !== 'operator')
            note(`ended ${replay.id}, ${orderedBy(replay)}, to webhook ${replay.webhookId}`);
        }
        return all.length;
      },
    });
  });
}

/** Whether a call with this time goes on with it. A partner's own is not ours to hold up. */
const isSame = ({ orderedBy, status, since, until }: ReplayStatus, window: TimeWindow): boolean =>
  orderedBy === 'operator' && status === 'all' && since === window.since && until === window.until;

const ORDERED_BY = { partner: 'ordered by its partner', operator: 'ordered by an operator' };
const orderedBy = (replay: ReplayStatus | undefined): string =>
  replay?.orderedBy === undefined ? 'ordered under an older release' : ORDERED_BY[replay.orderedBy];
