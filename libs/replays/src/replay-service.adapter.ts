import { randomUUID } from 'node:crypto';
import type { Audit } from '@relay/audit';
import { DeadLetterIndex } from '@relay/dead-letters';
import { topicOf, type EnvelopeType } from '@relay/events';
import { type KeptAdmin, rangesWithin } from '@relay/kafka';
import { ProblemError } from '@relay/problem';
import { oneShard } from '@relay/redis';
import type { Redis } from 'ioredis';
import { ReplayGroupStore } from './replay-group-store.adapter.js';
import { ReplayGroups } from './replay-groups.js';
import { ReplayService, type ReplayServiceParts } from './replay-service.js';
import { Replays } from './replays.adapter.js';

/** A service over Redis and Kafka. While no broker answers, orders reject with ProblemError `unavailable`. */
export const openReplayService = (...stores: Stores): ReplayService => new ReplayService(partsOf(...stores));

/** The same for several webhooks at once. */
export const openReplayGroups = (...stores: Stores): ReplayGroups =>
  new ReplayGroups({ ...partsOf(...stores), groups: new ReplayGroupStore(stores[0]) });

type Stores = readonly [redis: Redis, kafka: KeptAdmin, audit: Audit, topicPrefix: string];

const partsOf = (...[redis, kafka, audit, topicPrefix]: Stores): ReplayServiceParts => ({
  replays: new Replays(redis, oneShard(redis)),
  ranges: (eventType, window) =>
    kafka
      .ask((admin) => rangesWithin(admin, topicOf(topicPrefix, eventType as EnvelopeType), window))
      .catch((cause: unknown) => {
        throw new ProblemError('unavailable', 'Kafka does not answer at the moment: nothing was ordered.', {
          headers: { 'retry-after': '5' },
          cause,
        });
      }),
  letters: (webhookId, since) => new DeadLetterIndex(oneShard(redis)).count(webhookId, since),
  audit,
  newId: randomUUID,
  now: Date.now,
});
