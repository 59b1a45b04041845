import { Inject, Injectable } from '@nestjs/common';
import { barredUntil, type Breaker, CLOSED, RedisBreakerStore } from '@relay/breaker';
import { eventTypeName } from '@relay/events';
import { type AttemptTotals, failureRateOf, HourCounts, type HourPeriod, RedisAttemptCounts } from '@relay/history';
import { WaitingJobs } from '@relay/jobs';
import { type ShownStatus, withShownStatus } from '@relay/progress';
import { Shards } from '@relay/redis';
import { OPERATIONS_CONFIG, type OperationsConfig } from '@relay/settings';
import { FAILING, RedisWebhookView, type Webhook } from '@relay/webhooks';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { cursor } from '../http/routes.js';

const TROUBLES = ['breaker', 'failing', 'waiting'] as const;
type Trouble = (typeof TROUBLES)[number];

const SORTS = ['waiting', 'oldestWaiting', 'failureRate'] as const;
type Sort = (typeof SORTS)[number];

export const WebhookQuery = z.strictObject({
  status: z.enum(['active', 'parked', 'disabled']).optional().describe('Only webhooks of this status.'),
  trouble: z
    .enum(TROUBLES)
    .optional()
    .describe(
      'Only webhooks whose breaker is open, whose attempts all fail, or which have waiting deliveries; sorted by `waiting` unless `sort` is given.',
    ),
  sort: z
    .enum(SORTS)
    .optional()
    .describe('The worst first: most waiting deliveries, the longest wait, or the highest share of failures.'),
  partner: z.string().max(100).optional().describe('Only webhooks of this partner.'),
  eventType: eventTypeName('known').optional().describe('Only webhooks of this event type.'),
  limit: z.coerce.number().int().min(1).max(10_000).default(1_000).describe('Longest page: 1 to 10,000.'),
  cursor,
});

const moment = z.iso.datetime().nullable();

export const WebhookState = z
  .object({
    id: z.string(),
    partnerId: z.string(),
    eventType: eventTypeName('known'),
    origin: z.string().describe('Of its URL.'),
    path: z.string().describe('Of its URL, without the query. A segment that could be a key is `…`.'),
    status: z.enum(['active', 'parked', 'disabled']),
    disabledReason: z.string().nullable(),
    createdAt: z.iso.datetime(),
    waiting: z.int().describe('Deliveries in the queue. A parked webhook has more in the log.'),
    oldestWaitingSince: moment.describe(
      'When the oldest of these was accepted. Where very many wait, the oldest of a part of them, at least ten of each webhook.',
    ),
    failureRate: z
      .number()
      .nullable()
      .describe(
        'Share of failed attempts in those of `HISTORY_WINDOW`, by default 24 hours: 0 to 1; `null` without an attempt. The partner is told the same.',
      ),
    failingSince: moment.describe('Since when all its attempts fail.'),
    breaker: z
      .enum(['closed', 'open', 'half-open'])
      .describe('Open after failures: its own, or that of all webhooks of its partner at its origin.'),
    notBefore: moment.describe('When its next attempt may be made, if it is not now.'),
  })
  .meta({ id: 'WebhookState', description: 'A webhook and what troubles it.' });
export type WebhookState = z.infer<typeof WebhookState>;
export type WebhookQuery = z.infer<typeof WebhookQuery>;

export const WebhookList = z
  .object({ total: z.int().describe('Without `limit`.'), webhooks: z.array(WebhookState) })
  .meta({ id: 'WebhookStates', description: 'Webhooks of all partners, oldest first unless sorted.' });

/** Facts about all webhooks, read from Redis. The keys are webhook ids or, for `breakers`, breaker keys. */
interface Troubles {
  readonly waiting: ReadonlyMap<string, { readonly deliveries: number }>;
  /**
   * Value: epoch milliseconds since which all attempts fail, then a space, then the version that the webhook had at that
   * time.
   */
  readonly failing: Readonly<Record<string, string>>;
  readonly breakers: ReadonlyMap<string, Breaker>;
}

/** The state of a webhook without the members that cost a read for each webhook. */
type RoughState = Omit<WebhookState, 'oldestWaitingSince' | 'failureRate'>;

/** A segment of lower-case words or a version, which no generator of keys makes. */
const WORDS = /^(?:v?\d{1,3}|[a-z]{1,14}(?:[-_.][a-z]{1,14}){0,2})$/;

/** Returns the path of a URL with `…` for each segment that could be a key of the partner. */
export const shownPath = (url: string): string =>
  (URL.parse(url)?.pathname ?? '').replaceAll(/[^/]+/g, (segment) => (WORDS.test(segment) ? segment : '…'));

const timeOf = (at: number): string => new Date(at).toISOString();

function roughStateOf(
  { webhook, status }: { readonly webhook: Webhook; readonly status: ShownStatus },
  { waiting, failing, breakers }: Troubles,
  now: number,
): RoughState {
  const { id, partnerId, eventType, url, origin, endpoint, breakerKey, disabledReason } = webhook;
  // A delivery is only made if both breakers are closed.
  const both = [breakers.get(breakerKey) ?? CLOSED, breakers.get(endpoint) ?? CLOSED];
  const barred = Math.max(...both.map((breaker) => barredUntil(breaker, now)));
  const openUntil = Math.max(...both.map((breaker) => breaker.openUntil));
  const since = Number(failing[id]?.split(' ', 1)[0] ?? 0);
  return {
    id,
    partnerId,
    eventType: eventType,
    origin,
    path: shownPath(url),
    status,
    disabledReason: disabledReason ?? null,
    createdAt: timeOf(webhook.createdAt),
    waiting: waiting.get(id)?.deliveries ?? 0,
    failingSince: since > 0 ? timeOf(since) : null,
    breaker: openUntil === 0 ? 'closed' : openUntil > now ? 'open' : 'half-open',
    notBefore: barred > now ? timeOf(barred) : null,
  };
}

/** @param oldest epoch milliseconds */
export const stateOf = (
  rough: RoughState,
  oldest: number | undefined,
  totals: AttemptTotals | undefined,
): WebhookState => ({
  ...rough,
  oldestWaitingSince: oldest === undefined ? null : timeOf(oldest),
  failureRate: totals === undefined ? null : failureRateOf(totals),
});

const hasTrouble = ({ breaker, failingSince, waiting }: RoughState, trouble: Trouble): boolean =>
  ({ breaker: breaker !== 'closed', failing: failingSince !== null, waiting: waiting > 0 })[trouble];

/** Whether a query selects this webhook. */
export const isWanted = (state: RoughState, { status, eventType, trouble }: WebhookQuery): boolean =>
  (status === undefined || state.status === status) &&
  (eventType === undefined || state.eventType === eventType) &&
  (trouble === undefined || hasTrouble(state, trouble));

/** Comparators that sort the worst webhook first and webhooks without a value last. Equal webhooks keep their order. */
export const ORDERS: Readonly<Record<Exclude<Sort, 'waiting'>, (a: WebhookState, b: WebhookState) => number>> = {
  oldestWaiting: (a, b) => waitedSince(a) - waitedSince(b),
  failureRate: (a, b) => (b.failureRate ?? -1) - (a.failureRate ?? -1),
};

const waitedSince = ({ oldestWaitingSince }: WebhookState): number =>
  oldestWaitingSince === null ? Number.MAX_VALUE : Date.parse(oldestWaitingSince);

/** Maximum of waiting deliveries read in one request. That takes Redis about 250 ms, in slices of 10 ms. */
const LOOKED_AT = 100_000;
/** Minimum and maximum of waiting deliveries read for each webhook. */
const [FEWEST, MOST] = [10, 10_000];

/** Reads the webhooks of all partners and their current troubles. */
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

  /** Returns up to `limit` matching webhooks, starting at `cursor`, and the total number of matching webhooks. */
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

  /** Returns webhooks, oldest first. @param partner id of the partner; all partners if undefined */
  async all(partner?: string): Promise<Webhook[]> {
    await this.view.refresh();
    const found = this.view.all().filter(({ partnerId }) => partner === undefined || partnerId === partner);
    return found.toSorted((a, b) => a.createdAt - b.createdAt);
  }

  async find(id: string): Promise<Webhook | undefined> {
    await this.view.refresh();
    return this.view.find(id);
  }

  async hours(id: string, period: HourPeriod): Promise<HourCounts> {
    return { hours: await this.#counts.hours([id], period) };
  }

  /** Returns the state of a webhook, or undefined if the webhook is not registered. */
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

  /** Takes three reads for any number of webhooks, because only webhooks with troubles have an entry. */
  async #troubles(): Promise<Troubles> {
    const [waiting, failing, breakers] = await Promise.all([
      this.#jobs.counts(),
      this.redis.hgetall(FAILING),
      this.#breakers.all(),
    ]);
    return { waiting, failing, breakers };
  }

  /** Runs one script for each hundred webhooks and one for each 4,000 waiting deliveries that are read. */
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
