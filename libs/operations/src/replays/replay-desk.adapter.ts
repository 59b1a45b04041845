import { randomUUID } from 'node:crypto';
import { topicOf, type EventType } from '@relay/events';
import { answeredWithin, rangesWithin } from '@relay/kafka';
import { ProblemError } from '@relay/problem';
import { Replays } from '@relay/progress';
import { LetterIndex } from '@relay/retry';
import type { Redis } from 'ioredis';
import type { Kafka } from 'kafkajs';
import type { Audit } from '../audit.js';
import { ReplayDesk } from './replay-desk.js';

/** Who asks is answered within 10 s, whatever has become of Kafka (contract section 3). */
const ANSWER_MS = 8_000;

/** The desk over Redis and Kafka. While no broker answers it orders nothing: ProblemError `unavailable`. */
export const openReplayDesk = (redis: Redis, kafka: Kafka, audit: Audit, topicPrefix: string): ReplayDesk =>
  new ReplayDesk({
    replays: new Replays(redis),
    ranges: (eventType, window) =>
      answeredWithin(ANSWER_MS, rangesWithin(kafka, topicOf(topicPrefix, eventType as EventType), window)).catch(
        (cause: unknown) => {
          throw new ProblemError('unavailable', 'Kafka does not answer at the moment: nothing was ordered.', {
            headers: { 'retry-after': '5' },
            cause,
          });
        },
      ),
    letters: (webhookId, since) => new LetterIndex(redis).count(webhookId, since),
    audit,
    newId: randomUUID,
    now: Date.now,
  });
