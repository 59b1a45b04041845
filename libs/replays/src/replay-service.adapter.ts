import { randomUUID } from 'node:crypto';
import type { Audit } from '@relay/audit';
import { DeadLetterIndex } from '@relay/dead-letters';
import { topicOf, type EnvelopeType } from '@relay/events';
import { type KeptAdmin, rangesWithin } from '@relay/kafka';
import { ProblemError } from '@relay/problem';
import type { Shards } from '@relay/redis';
import { ReplayService } from './replay-service.js';
import { Replays } from './replays.adapter.js';

/** A service over Redis and Kafka. While no broker answers, orders reject with ProblemError `unavailable`. */
export const openReplayService = (shards: Shards, kafka: KeptAdmin, audit: Audit, topicPrefix: string): ReplayService =>
  new ReplayService({
    replays: new Replays(shards.global, shards),
    ranges: (eventType, window) =>
      kafka
        .ask((admin) => rangesWithin(admin, topicOf(topicPrefix, eventType as EnvelopeType), window))
        .catch((cause: unknown) => {
          throw new ProblemError('unavailable', 'Kafka does not answer at the moment: nothing was ordered.', {
            headers: { 'retry-after': '5' },
            cause,
          });
        }),
    letters: (webhookId, since) => new DeadLetterIndex(shards).count(webhookId, since),
    audit,
    newId: randomUUID,
    now: Date.now,
  });
