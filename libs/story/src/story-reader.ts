import { parseDeliveryId } from '@relay/delivery';
import { isEnvelopeType, type AttemptRecord } from '@relay/events';
import { answeredWithin, type EnvelopeFinder, type FoundEnvelope, type SoughtEnvelope } from '@relay/kafka';
import type { EnvelopeStory, IncompletePart } from './envelope-story.js';
import {
  replayName,
  SERIES_OF_REPLAY,
  storyOf,
  type PendingFacts,
  type StoryFacts,
  type WebhookFacts,
} from './story-of.js';
import type { StoryState } from './story-state.adapter.js';

/** The part of the index of attempts that a story needs. */
export interface AttemptsOfEnvelope {
  /** Whether it has come to the end of the log. */
  readonly state: { readonly isCurrent: boolean };
  ofEnvelope(envelopeId: string): Promise<readonly (AttemptRecord & { readonly host?: string | undefined })[]>;
}

/** The part of the view of webhooks that a story needs. */
export interface StoryWebhooks {
  find(id: string): StoryWebhook | undefined;
  matching(eventType: string, audience: readonly string[]): readonly StoryWebhook[];
  /** Brings the view up to date, for which it may need Kafka. */
  refresh(): Promise<void>;
}
interface StoryWebhook {
  readonly id: string;
  readonly partnerId: string;
  readonly origin: string;
  readonly endpoint: string;
  readonly status: WebhookFacts['status'];
}

/** A view that is some seconds old is better than no story. */
const REFRESH_MS = 2_000;

/** An id is accepted again after `DEDUPE_WINDOW` only, and the log keeps 7 days. */
const MOST_ACCEPTANCES = 3;

/** Where the caller thinks that an envelope is: its type, and about when it was accepted, to within a minute. */
export type EnvelopeClue = Omit<SoughtEnvelope, 'envelopeId'>;

/** What the stores say of an envelope before the log is asked. */
interface Known {
  readonly attempts: StoryFacts['attempts'];
  readonly pending: readonly PendingFacts[];
  readonly mark: StoryFacts['mark'];
  readonly repeats: StoryFacts['repeats'];
}

/** Reads the story of an envelope from the stores. One that is away is named in it. */
export class StoryReader {
  /** @param index undefined where it is off @param told called with the fault of a part that is away */
  constructor(
    private readonly state: StoryState,
    private readonly finder: Pick<EnvelopeFinder, 'find'>,
    private readonly webhooks: StoryWebhooks,
    private readonly index: AttemptsOfEnvelope | undefined,
    private readonly told: (part: IncompletePart, error: unknown) => void,
  ) {}

  /** Undefined when nothing is known of the envelope by the stores that answered: `away` names those that did not. */
  async read(
    id: string,
    clue?: EnvelopeClue,
  ): Promise<{ readonly story: EnvelopeStory | undefined; readonly away: readonly IncompletePart[] }> {
    const away = new Set<IncompletePart>();
    const known = await this.#known(id, away);
    const isKnown = known.attempts.length > 0 || known.pending.length > 0 || known.mark !== undefined;
    if (!isKnown && clue === undefined) return { story: undefined, away: [...away] };
    const [found] = await Promise.all([
      this.#orAway(away, 'kafka', this.#recordOf(id, known, clue), undefined),
      this.#orAway(
        away,
        away.has('redis') ? 'redis' : 'kafka',
        answeredWithin(REFRESH_MS, this.webhooks.refresh()),
        undefined,
      ),
    ]);
    if (!isKnown && found === undefined) return { story: undefined, away: [...away] };
    const matching = found === undefined ? [] : this.webhooks.matching(found.envelope.type, found.envelope.audience);
    const ranges = await this.#orAway(away, 'redis', this.#rangesOf(found, matching), []);
    const names = [...known.attempts.map(({ deliveryId }) => deliveryId), ...known.pending.map((each) => each.id)]
      .map(parseDeliveryId)
      .flatMap((each) =>
        each !== undefined && each.series >= SERIES_OF_REPLAY ? [replayName(each.webhookId, each.series)] : [],
      );
    const ofRanges = ranges.flatMap(({ webhookId, series }) => (series > 0 ? [replayName(webhookId, series)] : []));
    const replays = await this.#orAway(
      away,
      'redis',
      this.state.replayIds([...new Set([...names, ...ofRanges])]),
      new Map(),
    );
    if (this.index === undefined) away.add('index');
    const facts: StoryFacts = {
      id,
      ...known,
      record: found === undefined ? undefined : recordFacts(found),
      ranges,
      replays,
      webhooks: await this.#orAway(away, 'redis', this.#webhooksOf(known, matching), new Map()),
      incomplete: [...away].toSorted(),
    };
    return { story: storyOf(facts), away: [...away] };
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
    const known = await this.#known(id, away);
    const found = await this.#recordOf(id, known, clue);
    const isKnown = found !== undefined || known.attempts.length > 0 || known.pending.length > 0;
    return { found, isKnown, away: [...away] };
  }

  async #known(id: string, away: Set<IncompletePart>): Promise<Known> {
    const { index } = this;
    const [attempts, pending, mark, repeats] = await Promise.all([
      this.#orAway(away, 'index', index?.ofEnvelope(id) ?? Promise.resolve([]), []),
      this.#orAway(away, 'redis', this.state.pending(id), []),
      this.#orAway(away, 'redis', this.state.mark(id), undefined),
      this.#orAway(away, 'redis', this.state.repeats(id), undefined),
    ]);
    if (index?.state.isCurrent === false) away.add('index');
    return { attempts, pending, mark, repeats };
  }

  /** That of the first acceptance which the log still has. */
  async #recordOf(
    envelopeId: string,
    { attempts, pending }: Known,
    clue: EnvelopeClue | undefined,
  ): Promise<FoundEnvelope | undefined> {
    const ids = [...attempts.map(({ deliveryId }) => deliveryId), ...pending.map((each) => each.id)];
    const times = new Set(ids.map(parseDeliveryId).flatMap((each) => (each === undefined ? [] : [each.acceptedAt])));
    const eventType = attempts[0]?.eventType ?? pending[0]?.eventType;
    const clues: EnvelopeClue[] = clue === undefined ? [] : [clue];
    if (eventType !== undefined && isEnvelopeType(eventType))
      for (const acceptedAt of [...times].toSorted((a, b) => b - a).slice(0, MOST_ACCEPTANCES))
        clues.unshift({ eventType, acceptedAt });
    for (const each of clues) {
      const found = await this.finder.find({ envelopeId, ...each });
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** What a store answers, or `otherwise` where it is away. */
  async #orAway<T>(away: Set<IncompletePart>, part: IncompletePart, answer: Promise<T>, otherwise: T): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      away.add(part);
      this.told(part, error);
      return otherwise;
    }
  }

  async #rangesOf(found: FoundEnvelope | undefined, matching: readonly StoryWebhook[]) {
    if (found === undefined) return [];
    return this.state.rangesAt(found, found.record.offset, new Set(matching.map(({ id }) => id)));
  }

  async #webhooksOf(known: Known, matching: readonly StoryWebhook[]): Promise<Map<string, WebhookFacts>> {
    const delivered = [
      ...known.attempts,
      ...known.pending.map((each) => ({ webhookId: parseDeliveryId(each.id)?.webhookId ?? '' })),
    ];
    const ids = new Set([...delivered.map(({ webhookId }) => webhookId), ...matching.map(({ id }) => id)]);
    const found = [...ids].map((id) => this.webhooks.find(id)).filter((webhook) => webhook !== undefined);
    const open = await this.state.openBreakers(new Set(found.map(({ endpoint }) => endpoint)), Date.now());
    return new Map(
      found.map(({ id, partnerId, origin, endpoint, status }) => [
        id,
        {
          partnerId,
          host: URL.canParse(origin) ? new URL(origin).hostname : undefined,
          status,
          isBreakerOpen: open.has(endpoint),
        },
      ]),
    );
  }
}

const recordFacts = ({
  topic,
  partition,
  record,
  envelope,
  acceptedAt,
  source,
}: FoundEnvelope): StoryFacts['record'] => ({
  topic,
  partition,
  offset: record.offset,
  timestamp: record.timestamp,
  source,
  hash: envelope.contentHash,
  acceptedAt,
  eventType: envelope.type,
});
