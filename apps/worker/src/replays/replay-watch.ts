import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Notices } from '@relay/notices';
import { Replays, type ReplayStatus } from '@relay/replays';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView } from '@relay/webhooks';

const LOOK_MS = 2_000;
const HOUR_MS = 3_600_000;
/** Maximum of the newest replays in a look. They include replays that ended between two looks, or while no worker ran. */
const NEWEST = 100;
/** Upper bound in ms of the difference between the clocks of the process that took the order and of this one. */
const CLOCKS_DIFFER_MS = 60_000;

/**
 * Notifies partners of replays that have ended. A flush of any worker ends a replay, so every worker looks; the time of the end
 * makes their notices one.
 */
@Injectable()
export class ReplayWatch implements OnApplicationBootstrap, OnModuleDestroy {
  /** Ids of the replays that were under way at the last look. */
  #underWay: ReadonlySet<string> = new Set();
  /** Ids of the replays whose partner was notified and that a look still finds. */
  #told: ReadonlySet<string> = new Set();
  #lookedAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #looking = false;

  constructor(
    @Inject(Replays) private readonly replays: Pick<Replays, 'idsUnderWay' | 'find' | 'newest'>,
    @Inject(RedisWebhookView) private readonly webhooks: Pick<RedisWebhookView, 'find'>,
    @Inject(Notices) private readonly notices: Pick<Notices, 'tell'>,
    private readonly log: ThrottledLog,
  ) {}

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => void this.look(Date.now()), LOOK_MS).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.#timer);
  }

  async look(now: number): Promise<void> {
    if (this.#looking) return;
    this.#looking = true;
    try {
      const underWay = new Set(await this.replays.idsUnderWay());
      const ended = await this.#ended(underWay, now);
      for (const replay of ended) if (!this.#told.has(replay.id)) this.#tell(replay);
      this.#told = new Set(ended.map(({ id }) => id));
      [this.#underWay, this.#lookedAt] = [underWay, now];
    } catch (error) {
      this.log.warn('replay.waiting', 'The worker cannot read ordered replays from Redis; running replays continue', {
        reason: reasonOf(error),
      });
    } finally {
      this.#looking = false;
    }
  }

  async #ended(underWay: ReadonlySet<string>, now: number): Promise<ReplayStatus[]> {
    const newest = await this.replays.newest(Math.max(0, this.#lookedAt - CLOCKS_DIFFER_MS), NEWEST, now);
    const gone = [...this.#underWay].filter((id) => !underWay.has(id) && !newest.some((replay) => replay.id === id));
    const found = await Promise.all(gone.map((id) => this.replays.find(id, now)));
    const known = [...newest, ...found].filter((replay) => replay !== undefined);
    return known.filter(({ endedAt = 0 }) => endedAt > now - HOUR_MS);
  }

  #tell({ id: replayId, webhookId, state, matched, done, failed, endedAt }: ReplayStatus): void {
    const webhook = this.webhooks.find(webhookId);
    if (webhook === undefined || (state !== 'done' && state !== 'cancelled')) return;
    void this.notices.tell('replay.finished', webhook, { replayId, state, matched, done, failed }, endedAt);
  }
}
