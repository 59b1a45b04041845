import { Injectable } from '@nestjs/common';
import { AttemptFinder, EnvelopeFinder } from '@relay/kafka';
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

  /** `story` is undefined if no store that answered knows a delivery to these webhooks; `away` names the other stores. */
  async of(
    partnerId: string,
    envelopeId: string,
    webhookIds: ReadonlySet<string>,
    clue: EnvelopeClue | undefined,
  ): Promise<{ readonly story: PartnerStory | undefined; readonly away: readonly IncompletePart[] }> {
    // Most unknown ids cost only this look-up.
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
