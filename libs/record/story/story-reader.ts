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

/** Finds the attempts of an envelope. */
interface AttemptsOfEnvelope {
  /** Name of the part that a story lacks if the attempts cannot be read. */
  readonly part: IncompletePart;
  /** Names of parts that are missing in every story. */
  readonly lacking?: readonly IncompletePart[];
  /** Whether the source has read the log to its end. */
  readonly state: { readonly isCurrent: boolean };
  /** @param moments times at which attempts were logged, as far as they are known, in epoch milliseconds */
  ofEnvelope(envelopeId: string, moments: readonly number[]): Promise<readonly LoggedAttempt[]>;
}

/**
 * Finds attempts in the log, for a process without an index. It finds only attempts whose time is known from another store.
 */
export class LoggedAttempts implements AttemptsOfEnvelope {
  readonly part = 'kafka';
  readonly state = { isCurrent: true };

  /** @param lacking the parts that every story lacks, because only attempts with a known time are found */
  constructor(
    private readonly finder: Pick<AttemptFinder, 'find'>,
    readonly lacking: readonly IncompletePart[] = [],
  ) {}

  async ofEnvelope(envelopeId: string, moments: readonly number[]): Promise<readonly LoggedAttempt[]> {
    return moments.length === 0 ? [] : this.finder.find({ envelopeId, moments });
  }
}

/** The reads of webhooks that a story needs. */
export interface StoryWebhooks {
  /** Updates the view of webhooks, which may need Kafka. */
  refresh(): Promise<void>;
  find(ids: readonly string[]): Promise<readonly StoryWebhook[]>;
  /** Returns the ids of the webhooks that receive envelopes of this type and audience. */
  matching(eventType: string, audience: readonly string[]): Promise<readonly string[]>;
}

/**
 * Options for reading a story.
 * @property clue hint for finding an envelope that was never attempted
 * @property webhookIds the only webhooks that the story may show; by default all. An envelope without a delivery to one of
 *   these webhooks counts as unknown.
 */
interface StoryQuestion {
  readonly clue?: EnvelopeClue | undefined;
  readonly webhookIds?: ReadonlySet<string> | undefined;
}

/**
 * Maximum wait in ms for an update of the view of webhooks. A story from a view that is some seconds old is better than
 * none.
 */
const REFRESH_MS = 2_000;

/**
 * Maximum number of acceptances of an envelope that are looked for in the log. There are few: an id is accepted again only
 * after `DEDUPE_WINDOW`, and the log keeps records for 7 days.
 */
const MOST_ACCEPTANCES = 3;

/** Everything that the stores know about an envelope, before the log is read. */
type Known = Pick<StoryFacts, 'attempts' | 'pending' | 'delivered' | 'mark' | 'repeats'>;

/** Reads the story of an envelope from the stores. Each store that cannot be reached is named in the story. */
export class StoryReader {
  /** @param told called with the error of each part that cannot be read */
  constructor(
    private readonly state: StoryState,
    private readonly finder: Pick<EnvelopeFinder, 'find'>,
    private readonly webhooks: StoryWebhooks,
    private readonly attempts: AttemptsOfEnvelope,
    private readonly told: (part: IncompletePart, error: unknown) => void,
  ) {}

  /**
   * Returns the story; undefined if no store that answered knows the envelope. `away` names the stores that did not answer.
   */
  async read(
    id: string,
    { clue, webhookIds }: StoryQuestion = {},
  ): Promise<{ readonly story: EnvelopeStory | undefined; readonly away: readonly IncompletePart[] }> {
    const away = new Set<IncompletePart>();
    const known = await this.#known(id, webhookIds, away);
    const isKnown = idsOf(known).length > 0 || (known.mark !== undefined && webhookIds === undefined);
    if (!isKnown && clue === undefined) return { story: undefined, away: [...away] };
    const [found] = await Promise.all([
      // If Kafka has just failed to answer, it is not asked again.
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
   * Finds the record of an envelope in the log.
   * @returns `found`, undefined if the log has no such record or no store knows where to look; `isKnown`, whether any store
   *   knows the envelope; `away`, the stores that did not answer
   * @throws Error if Kafka does not answer
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

  /**
   * Returns the record of the envelope. If the id was accepted several times, the first record that the log still has is
   * returned.
   */
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

  /** Returns the answer of a store. If the store cannot be reached, it is added to `away` and `otherwise` is returned. */
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

/** Returns the ids of the known deliveries of the envelope. An id may be listed several times. */
const idsOf = ({ attempts, pending, delivered, mark }: Known): string[] => [
  ...attempts.map(({ deliveryId }) => deliveryId),
  ...pending.map(({ id }) => id),
  ...delivered.map((each) => deliveredId(each, mark?.hash)),
];

/** Returns the times at which the attempts of these deliveries were logged. */
const momentsOf = (pending: Known['pending'], delivered: Known['delivered']): number[] => [
  ...[...pending.flatMap(({ job }) => job.tries ?? []), ...delivered.flatMap(({ attempts }) => attempts)].map(
    ({ at, durationMs }) => at + durationMs,
  ),
  ...pending.flatMap(({ diedAt }) => diedAt ?? []),
];

/** Returns the names of the replays by time that these deliveries belong to. */
const replaysOf = (told: readonly { readonly webhookId: string; readonly series: number }[]): string[] => [
  ...new Set(
    told.flatMap(({ webhookId, series }) => (series >= SERIES_OF_REPLAY ? [replayName(webhookId, series)] : [])),
  ),
];

/** Window in ms for stores that are only read here. Only writes use the window, so any value will do. */
const NOTHING_WRITTEN = 0;

/**
 * Reads the state of one envelope from Redis with a few commands. Their cost does not depend on the number of other
 * envelopes.
 */
export class StoryState {
  readonly #marks: RedisSeenStore;
  readonly #repeats: RedisRepeatCounts;
  readonly #replays: Replays;
  readonly #breakers: RedisBreakerStore;

  /** @param redis connection for the keys that belong to no shard */
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

  /** Returns the deliveries in the history to the given webhooks; none if no webhooks are given, or without a history. */
  async delivered(envelopeId: string, webhookIds: ReadonlySet<string> | undefined): Promise<readonly HistoryLine[]> {
    return webhookIds === undefined ? [] : ((await this.history?.ofEnvelope(envelopeId, [...webhookIds])) ?? []);
  }

  /** @param webhookIds the only webhooks; by default all, and the dead letters of the envelope as a whole */
  pending(envelopeId: string, webhookIds?: ReadonlySet<string>): Promise<PendingDelivery[]> {
    return this.jobs.ofEnvelope(envelopeId, webhookIds);
  }

  /**
   * Returns the ranges in which an envelope waits for one of these webhooks: ranges of parked webhooks, and of replays by
   * time.
   * @param at partition of the envelope's record
   */
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
      // A replay of dead letters delivers no other envelopes, so its ranges are left out.
      const isThere = !isOfFailed && ranges.some(({ from, to = Infinity }) => from <= offset && offset < to);
      return isThere ? [{ webhookId, series }] : [];
    });
  }

  /** Returns the ids of replays by time, by `replayName`. */
  async replayIds(names: readonly string[]): Promise<Map<string, string>> {
    const found = await Promise.all(names.map((name) => this.#replays.idOf(name)));
    return new Map(names.flatMap((name, index) => (found[index] === undefined ? [] : [[name, found[index]]])));
  }

  /**
   * Returns why attempts are not allowed now, by the given keys of webhooks and endpoints. Keys that allow attempts are left
   * out.
   */
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
