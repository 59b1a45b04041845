import { Inject, Injectable } from '@nestjs/common';
import { RedisBreakerStore } from '@relay/breaker';
import { ENVELOPE_TYPES } from '@relay/events';
import { RedisAttemptCounts } from '@relay/history';
import { WaitingJobs } from '@relay/jobs';
import { withShownStatus } from '@relay/progress';
import { Shards } from '@relay/redis';
import { OPERATIONS_CONFIG, type OperationsConfig } from '@relay/settings';
import { FAILING, RedisWebhookView, type Webhook } from '@relay/webhooks';
import { Redis } from 'ioredis';
import {
  isWanted,
  ORDERS,
  type RoughState,
  roughStateOf,
  stateOf,
  type Troubles,
  type WebhookQuery,
  type WebhookState,
} from './webhook-states.js';

/** Waiting deliveries that one request reads to find the oldest: a quarter of a second of Redis, in slices of 10 ms. */
const LOOKED_AT = 100_000;
/** Least and most waiting deliveries of one webhook that a request reads. */
const [FEWEST, MOST] = [10, 10_000];

/** Reads the webhooks of all partners with their present troubles. */
@Injectable()
export class WebhookStates {
  readonly #jobs: WaitingJobs;
  readonly #breakers: RedisBreakerStore;
  readonly #counts: RedisAttemptCounts;

  constructor(
    private readonly redis: Redis,
    private readonly shards: Shards,
    private readonly view: RedisWebhookView,
    @Inject(OPERATIONS_CONFIG) { HISTORY_WINDOW }: OperationsConfig,
  ) {
    this.#jobs = new WaitingJobs(shards);
    this.#breakers = new RedisBreakerStore(redis);
    this.#counts = new RedisAttemptCounts(shards, HISTORY_WINDOW);
  }

  /** Returns the webhooks of a query, at most `limit` from `cursor`, and the total without that limit. */
  async list(query: WebhookQuery): Promise<{ total: number; webhooks: WebhookState[] }> {
    const found = (await this.#roughStatesOf(await this.all(query.partner))).filter((state) => isWanted(state, query));
    const [from, end] = [query.cursor, query.cursor + query.limit];
    const sort = query.sort ?? (query.trouble === undefined ? undefined : 'waiting');
    if (sort !== undefined && sort !== 'waiting') {
      const states = (await this.#statesOf(found)).toSorted(ORDERS[sort]);
      return { total: found.length, webhooks: states.slice(from, end) };
    }
    const sorted = sort === undefined ? found : found.toSorted((a, b) => b.waiting - a.waiting);
    return { total: found.length, webhooks: await this.#statesOf(sorted.slice(from, end)) };
  }

  /** Returns webhooks, oldest first. @param partner by default all partners */
  async all(partner?: string): Promise<Webhook[]> {
    await this.view.refresh();
    const found = ENVELOPE_TYPES.flatMap((type) => this.view.matching(type, partner === undefined ? [] : [partner]));
    return found.toSorted((a, b) => a.createdAt - b.createdAt);
  }

  async find(id: string): Promise<Webhook | undefined> {
    await this.view.refresh();
    return this.view.find(id);
  }

  /** Returns a webhook; undefined if it is not registered. */
  async read(id: string): Promise<WebhookState | undefined> {
    const webhook = await this.find(id);
    if (webhook === undefined) return undefined;
    const [state] = await this.#statesOf(await this.#roughStatesOf([webhook]));
    return state;
  }

  async #roughStatesOf(webhooks: readonly Webhook[]): Promise<RoughState[]> {
    const [shown, troubles] = await Promise.all([withShownStatus(this.shards, webhooks), this.#troubles()]);
    const now = Date.now();
    return shown.map((each) => roughStateOf(each, troubles, now));
  }

  /** Costs three reads for any number of webhooks: only webhooks in trouble have an entry. */
  async #troubles(): Promise<Troubles> {
    const [waiting, failing, breakers] = await Promise.all([
      this.#jobs.counts(),
      this.redis.hgetall(FAILING),
      this.#breakers.all(),
    ]);
    return { waiting, failing, breakers };
  }

  /** Runs a script for each hundred webhooks, and one for each 4,000 waiting deliveries that it reads. */
  async #statesOf(rough: readonly RoughState[]): Promise<WebhookState[]> {
    const waiting = rough.filter((state) => state.waiting > 0).map(({ id }) => id);
    const ofEach = Math.floor(LOOKED_AT / Math.max(1, waiting.length));
    const [oldest, totals] = await Promise.all([
      this.#jobs.oldest(waiting, Math.min(MOST, Math.max(FEWEST, ofEach))),
      this.#counts.totalsOf(rough.map(({ id }) => id)),
    ]);
    return rough.map((state, index) => stateOf(state, oldest.get(state.id), totals[index]));
  }
}
