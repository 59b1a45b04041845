import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Notices } from '@relay/notices';
import { Replays, type ReplayStatus } from '@relay/replays';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView } from '@relay/webhooks';

const LOOK_MS = 2_000;
const HOUR_MS = 3_600_000;
/** Replays that a worker which starts looks at, for those that ended while no worker ran. */
const AT_START = 100;

/**
 * Tells partners of replays that have ended. A flush ends a replay, of whichever worker, so every worker looks; the time of the end
 * makes their notices one.
 */
@Injectable()
export class ReplayWatch implements OnApplicationBootstrap, OnModuleDestroy {
  /** Ids of the replays that were under way at the last look. */
  #underWay: ReadonlySet<string> | undefined;
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
      for (const replay of await this.#ended(underWay, now)) this.#tell(replay);
      this.#underWay = underWay;
    } catch (error) {
      this.log.warn('replay.waiting', 'The worker cannot read ordered replays from Redis; running replays continue', {
        reason: reasonOf(error),
      });
    } finally {
      this.#looking = false;
    }
  }

  async #ended(underWay: ReadonlySet<string>, now: number): Promise<ReplayStatus[]> {
    if (this.#underWay === undefined) {
      const newest = await this.replays.newest(0, AT_START, now);
      return newest.filter(({ endedAt }) => endedAt !== undefined && endedAt > now - HOUR_MS);
    }
    const gone = [...this.#underWay].filter((id) => !underWay.has(id));
    const found = await Promise.all(gone.map((id) => this.replays.find(id, now)));
    return found.filter((replay) => replay !== undefined);
  }

  #tell({ id: replayId, webhookId, state, matched, done, failed, endedAt }: ReplayStatus): void {
    const webhook = this.webhooks.find(webhookId);
    if (webhook === undefined || (state !== 'done' && state !== 'cancelled')) return;
    void this.notices.tell('replay.finished', webhook, { replayId, state, matched, done, failed }, endedAt);
  }
}
