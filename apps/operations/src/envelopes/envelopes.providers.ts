import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Provider } from '@nestjs/common';
import { AttemptFinder, EnvelopeFinder, KeptAdmin, LogFetcher } from '@relay/kafka';
import { Shards } from '@relay/redis';
import { Redis } from 'ioredis';
import { PendingDeliveries } from '@relay/retry';
import { AttemptIndex, AttemptLog } from '@relay/search';
import type { OperationsConfig } from '@relay/settings';
import { LoggedAttempts, StoryReader, StoryState, type StoryWebhooks } from '@relay/story';
import { Log, reasonOf, ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView } from '@relay/webhooks';
import { Kafka } from 'kafkajs';
import { ATTEMPT_INDEX, EnvelopeStores } from './envelope-stores.js';

const ATTEMPTS = Symbol('where the attempts of an envelope are found');

const viewed = (view: RedisWebhookView): StoryWebhooks => ({
  refresh: () => view.refresh(),
  find: async (ids) => ids.map((id) => view.find(id)).filter((webhook) => webhook !== undefined),
  matching: async (eventType, audience) => view.matching(eventType, audience).map(({ id }) => id),
});

/** What the routes of envelopes and attempts need beside the stores of the app. */
export const envelopeProviders = (config: OperationsConfig): Provider[] => [
  {
    provide: EnvelopeFinder,
    useFactory: (kafka: Kafka, admin: KeptAdmin) =>
      new EnvelopeFinder(new LogFetcher(kafka), admin, config.KAFKA_TOPIC_PREFIX),
    inject: [Kafka, KeptAdmin],
  },
  {
    provide: PendingDeliveries,
    useFactory: (shards: Shards) => new PendingDeliveries(shards, shards),
    inject: [Shards],
  },
  {
    provide: ATTEMPT_INDEX,
    useFactory: (kafka: Kafka, admin: KeptAdmin, webhooks: RedisWebhookView, log: Log) => {
      const { SEARCH_INDEX, SEARCH_WINDOW: windowMs, SEARCH_BYTES: maxBytes, KAFKA_TOPIC_PREFIX } = config;
      if (SEARCH_INDEX === 'off') return null;
      // Two processes of one host have different ports, and a file belongs to one process.
      const own = join(tmpdir(), `relay-search-${config.OPERATIONS_PORT}.sqlite`);
      const settings = { path: SEARCH_INDEX === 'auto' ? own : SEARCH_INDEX, windowMs, maxBytes };
      return new AttemptIndex(
        settings,
        new AttemptLog(admin, new LogFetcher(kafka), KAFKA_TOPIC_PREFIX),
        webhooks,
        log,
      );
    },
    inject: [Kafka, KeptAdmin, RedisWebhookView, Log],
  },
  {
    provide: AttemptFinder,
    useFactory: (kafka: Kafka, admin: KeptAdmin) =>
      new AttemptFinder(new LogFetcher(kafka), admin, config.KAFKA_TOPIC_PREFIX),
    inject: [Kafka, KeptAdmin],
  },
  {
    provide: ATTEMPTS,
    useFactory: (index: AttemptIndex | null, finder: AttemptFinder) => index ?? new LoggedAttempts(finder, ['index']),
    inject: [ATTEMPT_INDEX, AttemptFinder],
  },
  {
    provide: StoryReader,
    useFactory: (
      client: Redis,
      shards: Shards,
      jobs: PendingDeliveries,
      finder: EnvelopeFinder,
      webhooks: RedisWebhookView,
      attempts: AttemptIndex | LoggedAttempts,
      log: ThrottledLog,
    ) =>
      new StoryReader(new StoryState(client, shards, jobs), finder, viewed(webhooks), attempts, (part, error) =>
        log.warn('story.incomplete', 'A part of the story of an envelope is away; the answer names it', {
          part,
          reason: reasonOf(error),
        }),
      ),
    inject: [Redis, Shards, PendingDeliveries, EnvelopeFinder, RedisWebhookView, ATTEMPTS, ThrottledLog],
  },
  {
    provide: EnvelopeStores,
    useFactory: (
      index: AttemptIndex | null,
      finder: EnvelopeFinder,
      attempts: AttemptFinder,
      admin: KeptAdmin,
      jobs: PendingDeliveries,
    ) => new EnvelopeStores(index, [finder, attempts, jobs], admin),
    inject: [ATTEMPT_INDEX, EnvelopeFinder, AttemptFinder, KeptAdmin, PendingDeliveries],
  },
];
