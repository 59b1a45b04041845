import { Injectable } from '@nestjs/common';
import { RedisDeliveryHistory } from '@relay/history';
import { JobBodies } from '@relay/jobs';
import { AttemptFinder, EnvelopeFinder } from '@relay/kafka';
import { ProblemError } from '@relay/problem';
import { Shards } from '@relay/redis';
import { PendingDeliveries } from '@relay/retry';
import {
  EnvelopeStory,
  LoggedAttempts,
  StoryDelivery,
  StoryReader,
  StoryState,
  type EnvelopeClue,
  type IncompletePart,
  type StoryWebhooks,
} from '@relay/story';
import { reasonOf, ThrottledLog } from '@relay/telemetry';
import { breakerKeysOf, WebhookStore } from '@relay/webhooks';
import { z } from 'zod';

export const PartnerStory = EnvelopeStory.omit({ source: true, record: true, deliveries: true })
  .extend({
    deliveries: z
      .array(
        StoryDelivery.omit({ partnerId: true }).meta({
          id: 'StoryDelivery',
          description: 'One series of attempts at one webhook.',
        }),
      )
      .describe('By webhook, and each in order.'),
  })
  .meta({ id: 'EnvelopeStory', description: 'What became of an envelope at your webhooks.' });
export type PartnerStory = z.infer<typeof PartnerStory>;

/** Reads the stories of envelopes at the webhooks of one partner. */
@Injectable()
export class PartnerStories {
  constructor(
    private readonly state: StoryState,
    private readonly finder: EnvelopeFinder,
    private readonly attempts: AttemptFinder,
    private readonly webhooks: WebhookStore,
    private readonly log: ThrottledLog,
  ) {}

  /**
   * `story` is undefined if no store that answered knows a delivery to these webhooks. `away` lists the parts of the story
   * whose store did not answer.
   */
  async of(
    partnerId: string,
    envelopeId: string,
    webhookIds: ReadonlySet<string>,
    clue: EnvelopeClue | undefined,
  ): Promise<{ readonly story: PartnerStory | undefined; readonly away: readonly IncompletePart[] }> {
    // For most unknown ids, this look-up is the only one.
    if (clue === undefined && !(await this.isKnown(envelopeId, webhookIds))) return { story: undefined, away: [] };
    const reader = new StoryReader(
      this.state,
      this.finder,
      this.#webhooksOf(partnerId, webhookIds),
      new LoggedAttempts(this.attempts),
      (part, error) =>
        this.log.warn('story.incomplete', 'A part of the story of an envelope is away; the answer names it', {
          part,
          reason: reasonOf(error),
        }),
    );
    const { story, away } = await reader.read(envelopeId, { clue, webhookIds });
    if (story === undefined) return { story, away };
    const { source: _source, record: _record, deliveries, ...rest } = story;
    return {
      story: { ...rest, deliveries: deliveries.map(({ partnerId: _partnerId, ...delivery }) => delivery) },
      away,
    };
  }

  /** Whether a delivery to these webhooks waits, is dead, or is in the history. */
  async isKnown(envelopeId: string, webhookIds: ReadonlySet<string>): Promise<boolean> {
    const [pending, delivered] = await Promise.all([
      this.state.pending(envelopeId, webhookIds),
      this.state.delivered(envelopeId, webhookIds),
    ]);
    return pending.length + delivered.length > 0;
  }

  #webhooksOf(partnerId: string, webhookIds: ReadonlySet<string>): StoryWebhooks {
    return {
      refresh: () => Promise.resolve(),
      find: async (ids) => {
        const found = await Promise.all(ids.map((id) => this.webhooks.find(partnerId, id)));
        return found.flatMap((webhook) => {
          if (webhook === undefined) return [];
          const { id, endPointUrl, status } = webhook.details;
          const { origin } = new URL(endPointUrl);
          return [{ id, partnerId, origin, ...breakerKeysOf({ id, partnerId, origin }), status }];
        });
      },
      matching: async (eventType, audience) => {
        if (audience.length > 0 && !audience.includes(partnerId)) return [];
        return (await this.webhooks.idsOf(partnerId, eventType)).filter((id) => webhookIds.has(id));
      },
    };
  }
}

/**
 * Reads the bytes of an envelope. They come from Redis while a delivery waits or is a dead letter, otherwise from the log.
 */
@Injectable()
export class EnvelopePayloads {
  readonly #bodies: JobBodies;

  constructor(
    private readonly webhooks: WebhookStore,
    private readonly history: RedisDeliveryHistory,
    private readonly jobs: PendingDeliveries,
    private readonly finder: EnvelopeFinder,
    shards: Shards,
  ) {
    this.#bodies = new JobBodies(shards);
  }

  /**
   * Returns the envelope as it was sent; undefined if no delivery of the envelope to these webhooks is known.
   * @throws ProblemError `not-found` if the log no longer has the envelope, `unavailable` if Kafka does not answer
   */
  async of(partnerId: string, envelopeId: string, webhookIds: ReadonlySet<string>): Promise<Buffer | undefined> {
    const pending = await this.jobs.ofEnvelope(envelopeId, webhookIds);
    for (const { job } of pending) {
      const body = await this.#bodies.of(job);
      // Valid envelopes are UTF-8 without a byte order mark, so encoding the text gives the bytes that were sent.
      if (body !== undefined) return Buffer.from(body);
    }
    // Redis can lose the body of a pending delivery. The envelope is then read from the log too.
    const lost = pending[0]?.job;
    const known = lost ?? (await this.history.ofEnvelope(envelopeId, [...webhookIds]))[0];
    if (known === undefined) return undefined;
    const acceptedAt = lost?.waitedSince ?? known.acceptedAt;
    const webhook = await this.webhooks.find(partnerId, known.webhookId);
    if (webhook === undefined) return undefined;
    const { eventType } = webhook.details;
    const found = await this.finder.find({ envelopeId, eventType, acceptedAt }).catch(logIsAway);
    if (found === undefined || !isFor(found.envelope.audience, partnerId))
      throw new ProblemError('not-found', 'There was a delivery of this envelope, but the log no longer has it.');
    return found.envelope.bytes;
  }
}

/** Whether a record is for the partner. If an id was accepted more than once, the record may be for another partner. */
const isFor = (audience: readonly string[], partnerId: string): boolean =>
  audience.length === 0 || audience.includes(partnerId);

function logIsAway(cause: unknown): never {
  throw new ProblemError('unavailable', 'Kafka, which has the envelope, does not answer at the moment.', {
    headers: { 'retry-after': '5' },
    cause,
  });
}
