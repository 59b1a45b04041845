import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OnApplicationShutdown } from '@nestjs/common';
import { AttemptFinder, EnvelopeFinder, type Kafka, type KeptAdmin, LogFetcher } from '@relay/kafka';
import type { Shards } from '@relay/redis';
import { PendingDeliveries } from '@relay/retry';
import { AttemptIndex, AttemptTopic } from '@relay/search';
import type { OperationsConfig } from '@relay/settings';
import { LoggedAttempts, StoryReader, StoryState, type StoryWebhooks } from '@relay/story';
import { reasonOf, type Log, type ThrottledLog } from '@relay/telemetry';
import type { RedisWebhookView } from '@relay/webhooks';
import type { Redis } from 'ioredis';

/** Owns the stores and connections that the search and the delivery histories of envelopes use. */
export class EnvelopeStores implements OnApplicationShutdown {
  constructor(
    /** Null if `SEARCH_INDEX` is `off`. */
    readonly index: AttemptIndex | null,
    readonly stories: StoryReader,
    private readonly stores: readonly { close(): Promise<void> }[],
  ) {}

  /** Starts to index the log of attempts. */
  start(): void {
    this.index?.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.index?.close(), ...this.stores.map((store) => store.close())]);
  }
}

export function openEnvelopeStores(
  config: OperationsConfig,
  [kafka, admin, redis, shards]: readonly [Kafka, KeptAdmin, Redis, Shards],
  webhooks: RedisWebhookView,
  [log, throttled]: readonly [Log, ThrottledLog],
): EnvelopeStores {
  const { SEARCH_INDEX, SEARCH_WINDOW: windowMs, SEARCH_BYTES: maxBytes, KAFKA_TOPIC_PREFIX: prefix } = config;
  const envelopes = new EnvelopeFinder(new LogFetcher(kafka), admin, prefix);
  const attempts = new AttemptFinder(new LogFetcher(kafka), admin, prefix);
  const jobs = new PendingDeliveries(shards, shards);
  // Each process needs a file of its own. The port makes the name unique, because it differs between processes on one host.
  const own = join(tmpdir(), `relay-search-${config.OPERATIONS_PORT}.sqlite`);
  const settings = { path: SEARCH_INDEX === 'auto' ? own : SEARCH_INDEX, windowMs, maxBytes };
  const index =
    SEARCH_INDEX === 'off'
      ? null
      : new AttemptIndex(settings, new AttemptTopic(admin, new LogFetcher(kafka), prefix), webhooks, log);
  const stories = new StoryReader(
    new StoryState(redis, shards, jobs),
    envelopes,
    viewed(webhooks),
    index ?? new LoggedAttempts(attempts, ['index']),
    (part, error) =>
      throttled.warn('story.incomplete', 'A part of the story of an envelope is away; the answer names it', {
        part,
        reason: reasonOf(error),
      }),
  );
  return new EnvelopeStores(index, stories, [envelopes, attempts, jobs, admin]);
}

const viewed = (view: RedisWebhookView): StoryWebhooks => ({
  refresh: () => view.refresh(),
  find: async (ids) => ids.map((id) => view.find(id)).filter((webhook) => webhook !== undefined),
  matching: async (eventType, audience) => view.matching(eventType, audience).map(({ id }) => id),
});
