import { RedisBreakerStore } from '@relay/breaker';
import { RedisRepeatCounts, RedisSeenStore, type RepeatCount, type SeenMark } from '@relay/dedupe';
import { parseDeliveryId } from '@relay/delivery';
import type { HistoryLine, RedisDeliveryHistory } from '@relay/history';
import { answeredWithin, type AttemptFinder, type EnvelopeFinder, type FoundEnvelope } from '@relay/kafka';
import { type LogPartition, parkingKey, readRangeKey, readRanges } from '@relay/progress';
import type { Shards } from '@relay/redis';
import { Replays } from '@relay/replays';
import type { PendingDeliveries, PendingDelivery } from '@relay/retry';
import type { Redis } from 'ioredis';
import {
  type Bar,
  deliveredId,
  type EnvelopeClue,
  type EnvelopeStory,
  type IncompletePart,
  type LoggedAttempt,
  type RangeFacts,
  replayName,
  SERIES_OF_REPLAY,
  type StoryFacts,
  storyOf,
  type StoryWebhook,
  type WebhookFacts,
} from './story-of.js';

/** Index of the attempts of an envelope. */
interface AttemptsOfEnvelope {
  /** The part that is missing when it is away. */
  readonly part: IncompletePart;
  /** Parts that every story lacks. */
  readonly lacking?: readonly IncompletePart[];
  /** Whether it has come to the end of the log. */
  readonly state: { readonly isCurrent: boolean };
  /** @param moments around which attempts were logged, if known, epoch milliseconds */
  ofEnvelope(envelopeId: string, moments: readonly number[]): Promise<readonly LoggedAttempt[]>;
}

/** Attempts as the log has them, for a process without an index. It finds those of which a store knows the time. */
export class LoggedAttempts implements AttemptsOfEnvelope {
  readonly part = 'kafka';
  readonly state = { isCurrent: true };

  /** @param lacking what a story misses because this has only attempts of which a store knows the time */
  constructor(
    private readonly finder: Pick<AttemptFinder, 'find'>,
    readonly lacking: readonly IncompletePart[] = [],
  ) {}

  async ofEnvelope(envelopeId: string, moments: readonly number[]): Promise<readonly LoggedAttempt[]> {
    return moments.length === 0 ? [] : this.finder.find({ envelopeId, moments });
  }
}

/** Reads of webhooks that a story needs. */
export interface StoryWebhooks {
  /** Brings a view of them up to date, for which it may need Kafka. */
  refresh(): Promise<void>;
  find(ids: readonly string[]): Promise<readonly StoryWebhook[]>;
  /** The ids of those that get such an envelope. */
  matching(eventType: string, audience: readonly string[]): Promise<readonly string[]>;
}

/**
 * Question for a story.
 * @property clue where the envelope may be, if it was never attempted
 * @property webhookIds the only webhooks that the story shows, and without which an envelope is unknown; by default all
 */
interface StoryQuestion {
  readonly clue?: EnvelopeClue | undefined;
  readonly webhookIds?: ReadonlySet<string> | undefined;
}

/** Longest wait in ms for the view of webhooks: a view that is some seconds old is better than no story. */
const REFRESH_MS = 2_000;

/** An id is accepted again after `DEDUPE_WINDOW` only, and the log keeps 7 days. */
const MOST_ACCEPTANCES = 3;

/** Facts of the stores about an envelope, before the log is read. */
type Known = Pick<StoryFacts, 'attempts' | 'pending' | 'delivered' | 'mark' | 'repeats'>;

/** Reads the story of an envelope from the stores. The story names each store that is away. */
export class StoryReader {
  /** @param told called with the fault of a part that is away */
  constructor(
    private readonly state: StoryState,
    private readonly finder: Pick<EnvelopeFinder, 'find'>,
    private readonly webhooks: StoryWebhooks,
    private readonly attempts: AttemptsOfEnvelope,
    private readonly told: (part: IncompletePart, error: unknown) => void,
  ) {}

  /** Returns the story; undefined if no store that answered knows the envelope. `away` names the stores that did not answer. */
  async read(
    id: string,
    { clue, webhookIds }: StoryQuestion = {},
  ): Promise<{ readonly story: EnvelopeStory | undefined; readonly away: readonly IncompletePart[] }> {
    const away = new Set<IncompletePart>();
    const known = await this.#known(id, webhookIds, away);
    const isKnown = idsOf(known).length > 0 || (known.mark !== undefined && webhookIds === undefined);
    if (!isKnown && clue === undefined) return { story: undefined, away: [...away] };
    const [found] = await Promise.all([
      // A store that did not answer a moment ago is not asked again.
      away.has('kafka') ? undefined : this.#orAway(away, 'kafka', this.#recordOf(id, known, clue), undefined),
      this.#orAway(
        away,
        away.has('redis') ? 'redis' : 'kafka',
        answeredWithin(REFRESH_MS, this.webhooks.refresh()),
        undefined,
      ),
    ]);
    if (!isKnown && found === undefined) return { story: undefined, away: [...away] };
    const ranges = await this.#orAway(away, 'redis', this.#rangesOf(found), []);
    const names = idsOf(known)
      .map(parseDeliveryId)
      .filter((each) => each !== undefined);
    const facts: StoryFacts = {
      id,
      ...known,
      record: found,
      ranges,
      replays: await this.#orAway(away, 'redis', this.state.replayIds(replaysOf([...names, ...ranges])), new Map()),
      webhooks: await this.#orAway(away, 'redis', this.#webhooksOf([...names, ...ranges]), new Map()),
      incomplete: [...new Set([...away, ...(this.attempts.lacking ?? [])])].toSorted(),
    };
    const story = storyOf(facts);
    return { story: webhookIds !== undefined && story.deliveries.length === 0 ? undefined : story, away: [...away] };
  }

  /**
   * The record of an envelope; undefined when the log no longer has it, or nothing is known of the envelope by the stores that
   * answered.
   * @throws Error when Kafka does not answer
   */
  async record(
    id: string,
    clue?: EnvelopeClue,
  ): Promise<{
    readonly found: FoundEnvelope | undefined;
    readonly isKnown: boolean;
    readonly away: readonly IncompletePart[];
  }> {
    const away = new Set<IncompletePart>();
    const known = await this.#known(id, undefined, away);
    const found = await this.#recordOf(id, known, clue);
    const isKnown = found !== undefined || idsOf(known).length > 0;
    return { found, isKnown, away: [...away] };
  }

  async #known(id: string, webhookIds: ReadonlySet<string> | undefined, away: Set<IncompletePart>): Promise<Known> {
    const { part, state } = this.attempts;
    const [pending, delivered, mark, repeats] = await Promise.all([
      this.#orAway(away, 'redis', this.state.pending(id, webhookIds), []),
      this.#orAway(away, 'redis', this.state.delivered(id, webhookIds), []),
      this.#orAway(away, 'redis', this.state.mark(id), undefined),
      this.#orAway(away, 'redis', this.state.repeats(id), undefined),
    ]);
    const attempts = await this.#orAway(away, part, this.attempts.ofEnvelope(id, momentsOf(pending, delivered)), []);
    if (!state.isCurrent) away.add('index');
    const shown = attempts.filter(({ webhookId }) => webhookIds === undefined || webhookIds.has(webhookId));
    return { attempts: shown, pending, delivered, mark, repeats };
  }

  /** That of the first acceptance which the log still has. */
  async #recordOf(
    envelopeId: string,
    known: Known,
    clue: EnvelopeClue | undefined,
  ): Promise<FoundEnvelope | undefined> {
    const ids = idsOf(known);
    const times = new Set(ids.map(parseDeliveryId).flatMap((each) => (each === undefined ? [] : [each.acceptedAt])));
    const eventType = known.attempts[0]?.eventType ?? known.pending[0]?.job.eventType;
    const clues: EnvelopeClue[] = clue === undefined ? [] : [clue];
    if (eventType !== undefined)
      for (const acceptedAt of [...times].toSorted((a, b) => b - a).slice(0, MOST_ACCEPTANCES))
        clues.unshift({ eventType, acceptedAt });
    for (const each of clues) {
      const found = await this.finder.find({ envelopeId, ...each });
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Returns a store's answer, or `otherwise` if the store is away. */
  async #orAway<T>(away: Set<IncompletePart>, part: IncompletePart, answer: Promise<T>, otherwise: T): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      away.add(part);
      this.told(part, error);
      return otherwise;
    }
  }

  async #rangesOf(found: FoundEnvelope | undefined): Promise<RangeFacts[]> {
    if (found === undefined) return [];
    const matching = await this.webhooks.matching(found.envelope.type, found.envelope.audience);
    const place = { offset: found.record.offset, envelopeId: found.envelope.id };
    return this.state.rangesAt(found, place, new Set(matching));
  }

  async #webhooksOf(told: readonly { readonly webhookId: string }[]): Promise<Map<string, WebhookFacts>> {
    const found = await this.webhooks.find([...new Set(told.map(({ webhookId }) => webhookId))]);
    const keys = new Set(found.flatMap(({ endpoint, breakerKey }) => [endpoint, breakerKey]));
    const bars = await this.state.barsOf(keys, Date.now());
    return new Map(
      found.map((each) => [each.id, { ...each, barredBy: bars.get(each.breakerKey) ?? bars.get(each.endpoint) }]),
    );
  }
}

/** Returns the known ids of its deliveries, each perhaps more than once. */
const idsOf = ({ attempts, pending, delivered, mark }: Known): string[] => [
  ...attempts.map(({ deliveryId }) => deliveryId),
  ...pending.map(({ id }) => id),
  ...delivered.map((each) => deliveredId(each, mark?.hash)),
];

/** Returns when attempts of these deliveries were logged. */
const momentsOf = (pending: Known['pending'], delivered: Known['delivered']): number[] => [
  ...[...pending.flatMap(({ job }) => job.tries ?? []), ...delivered.flatMap(({ attempts }) => attempts)].map(
    ({ at, durationMs }) => at + durationMs,
  ),
  ...pending.flatMap(({ diedAt }) => diedAt ?? []),
];

/** The names of the replays by time that these belong to. */
const replaysOf = (told: readonly { readonly webhookId: string; readonly series: number }[]): string[] => [
  ...new Set(
    told.flatMap(({ webhookId, series }) => (series >= SERIES_OF_REPLAY ? [replayName(webhookId, series)] : [])),
  ),
];

/** Window in ms of stores that are only read here: only writers need it. */
const NOTHING_WRITTEN = 0;

/** Reads the state of one envelope from Redis by a few commands, whose cost does not grow with other envelopes. */
export class StoryState {
  readonly #marks: RedisSeenStore;
  readonly #repeats: RedisRepeatCounts;
  readonly #replays: Replays;
  readonly #breakers: RedisBreakerStore;

  /** @param redis with what is global */
  constructor(
    redis: Redis,
    private readonly shards: Shards,
    private readonly jobs: Pick<PendingDeliveries, 'ofEnvelope'>,
    private readonly history?: Pick<RedisDeliveryHistory, 'ofEnvelope'>,
  ) {
    this.#marks = new RedisSeenStore(shards, NOTHING_WRITTEN);
    this.#repeats = new RedisRepeatCounts(shards, NOTHING_WRITTEN);
    this.#replays = new Replays(redis, shards);
    this.#breakers = new RedisBreakerStore(redis);
  }

  async mark(envelopeId: string): Promise<SeenMark | undefined> {
    return (await this.#marks.find([envelopeId]))[0];
  }

  repeats(envelopeId: string): Promise<RepeatCount> {
    return this.#repeats.of(envelopeId);
  }

  /** Returns the deliveries to the given webhooks that the history has. */
  async delivered(envelopeId: string, webhookIds: ReadonlySet<string> | undefined): Promise<readonly HistoryLine[]> {
    return webhookIds === undefined ? [] : ((await this.history?.ofEnvelope(envelopeId, [...webhookIds])) ?? []);
  }

  /** @param webhookIds the only ones; by default all, and dead letters of the envelope as a whole */
  pending(envelopeId: string, webhookIds?: ReadonlySet<string>): Promise<PendingDelivery[]> {
    return this.jobs.ofEnvelope(envelopeId, webhookIds);
  }

  /** The ranges of these webhooks, and of the replays under way to them, in which an envelope waits that is at this offset. */
  async rangesAt(
    at: LogPartition,
    { offset, envelopeId }: { readonly offset: number; readonly envelopeId: string },
    webhookIds: ReadonlySet<string>,
  ): Promise<RangeFacts[]> {
    if (webhookIds.size === 0) return [];
    const { keys } = await this.#replays.orders();
    const replays = [...keys].filter((key) => webhookIds.has(readRangeKey(key).webhookId));
    const shard = this.shards.of(envelopeId);
    const [texts, parts] = await Promise.all([
      shard.redis.hmget(parkingKey(shard, at), ...webhookIds),
      this.#replays.rangesOf({ ...at, shard: this.shards.all.indexOf(shard) }, replays),
    ]);
    const parked = [...webhookIds].map((key, index) => [key, readRanges(texts[index] ?? '')] as const);
    const ordered = [...parts].map(([key, { ranges }]) => [key, ranges] as const);
    return [...parked, ...ordered].flatMap(([key, ranges]) => {
      const { webhookId, series, isOfFailed } = readRangeKey(key);
      // A replay of dead letters comes to dead letters only.
      const isThere = !isOfFailed && ranges.some(({ from, to = Infinity }) => from <= offset && offset < to);
      return isThere ? [{ webhookId, series }] : [];
    });
  }

  /** Ids of the replays by time that these series belong to, by `replayName`. */
  async replayIds(names: readonly string[]): Promise<Map<string, string>> {
    const found = await Promise.all(names.map((name) => this.#replays.idOf(name)));
    return new Map(names.flatMap((name, index) => (found[index] === undefined ? [] : [[name, found[index]]])));
  }

  /** Returns the bars to attempts now, by the given keys of webhooks and endpoints. */
  async barsOf(keys: ReadonlySet<string>, now: number): Promise<Map<string, Bar>> {
    if (keys.size === 0) return new Map();
    const all = await this.#breakers.all();
    return new Map(
      [...keys].flatMap((key): [string, Bar][] => {
        const { openUntil = 0, heldUntil = 0 } = all.get(key) ?? {};
        if (Math.max(openUntil, heldUntil) <= now) return [];
        return [[key, heldUntil > openUntil ? 'retry-after' : 'breaker']];
      }),
    );
  }
}
