import { RedisBreakerStore } from '@relay/breaker';
import { parseDeliveryId } from '@relay/delivery';
import { ENVELOPE_TYPES } from '@relay/events';
import { WaitingJobs } from '@relay/jobs';
import { withShownStatus } from '@relay/progress';
import { FAILING, type RedisWebhookView, type Webhook } from '@relay/webhooks';
import type { Redis } from 'ioredis';
import type { z } from 'zod';
import type { WebhookBacklog, WebhookState } from './webhook-answers.js';
import { stateOf, type Troubles } from './webhook-states.js';

/** Waiting deliveries of a webhook among which the oldest is looked for. */
const MOST_LOOKED_AT = 10_000;

/** Webhooks of all partners with what troubles them, as it is now. */
export class WebhookStates {
  readonly #jobs: WaitingJobs;
  readonly #breakers: RedisBreakerStore;

  constructor(
    private readonly redis: Redis,
    private readonly view: RedisWebhookView,
  ) {
    this.#jobs = new WaitingJobs(redis);
    this.#breakers = new RedisBreakerStore(redis);
  }

  /** @param partner by default all partners */
  async list(partner: string | undefined): Promise<WebhookState[]> {
    await this.view.refresh();
    return this.#statesOf(
      ENVELOPE_TYPES.flatMap((type) => this.view.matching(type, partner === undefined ? [] : [partner])),
    );
  }

  async find(id: string): Promise<Webhook | undefined> {
    await this.view.refresh();
    return this.view.find(id);
  }

  /** One webhook; undefined when it is not registered. */
  async read(id: string): Promise<z.infer<typeof WebhookBacklog> | undefined> {
    const webhook = await this.find(id);
    const [state] = webhook === undefined ? [] : await this.#statesOf([webhook]);
    if (state === undefined) return undefined;
    const ids = state.waiting > 0 && state.waiting <= MOST_LOOKED_AT ? await this.#jobs.ids(id) : [];
    const accepted = ids.flatMap((job) => parseDeliveryId(job)?.acceptedAt ?? []);
    const oldest = accepted.length === 0 ? null : accepted.reduce((least, at) => Math.min(least, at));
    return { ...state, oldestWaitingSince: oldest === null ? null : new Date(oldest).toISOString() };
  }

  async #statesOf(webhooks: readonly Webhook[]): Promise<WebhookState[]> {
    const [shown, troubles] = await Promise.all([withShownStatus(this.redis, webhooks), this.#troubles()]);
    const now = Date.now();
    return shown.map((each) => stateOf(each, troubles, now));
  }

  /** Three reads, however many webhooks are looked at: only those in trouble have an entry. */
  async #troubles(): Promise<Troubles> {
    const [waiting, failing, breakers] = await Promise.all([
      this.#jobs.counts(),
      this.redis.hgetall(FAILING),
      this.#breakers.all(),
    ]);
    return { waiting, failing, breakers };
  }
}
