import { recordHeaders, topicOf, type AcceptedEnvelope } from '@relay/events';
import type { Publisher } from '@relay/publishing';
import type { RememberedIds } from './remembered-ids.js';

/** `accepted`: stored now. `duplicate`: the same content is already stored. `conflict`: other content has this id. */
export type Verdict = 'accepted' | 'duplicate' | 'conflict';

/** The sender of an envelope, and its trace. */
export interface Sender {
  readonly clientId: string;
  readonly traceparent: string;
}

export interface AcceptanceSettings {
  readonly topicPrefix: string;
  /** CloudEvents source of the records: this relay's public address. */
  readonly ceSource: string;
}

interface Flight {
  readonly hash: string;
  readonly verdict: Promise<Verdict>;
}

/**
 * Checks whether an envelope is a repeat, and appends it to the log. Concurrent envelopes with the same id share a flight
 * in this process: only the first is published, and the rest get its answer after the acknowledgement, so a hundred parallel
 * posts make one record. A flight lasts until its seen mark is written or has failed, so a repeat right after the answer
 * finds the flight or the mark. If two processes accept the same id, or Redis is away, the worker drops the repeat: the
 * first record of an id wins.
 */
export class Acceptance {
  readonly #flights = new Map<string, Flight>();

  constructor(
    private readonly publisher: Publisher,
    private readonly remembered: RememberedIds,
    private readonly settings: AcceptanceSettings,
    private readonly now: () => number,
    /** Starts the measurement of a publish; the returned function ends it. */
    private readonly timePublish: () => () => void = () => () => undefined,
  ) {}

  /** @throws PublishFailed if the log sends no acknowledgement; the record may still be stored */
  async accept(envelope: AcceptedEnvelope, sender: Sender): Promise<Verdict> {
    const verdict = await this.#accept(envelope, sender);
    if (verdict !== 'accepted') this.remembered.repeated(envelope.id, verdict);
    return verdict;
  }

  async #accept(envelope: AcceptedEnvelope, sender: Sender): Promise<Verdict> {
    for (;;) {
      const flight = this.#flights.get(envelope.id);
      if (flight === undefined) return this.#depart(envelope, sender);
      if (flight.hash === envelope.contentHash) {
        const verdict = await flight.verdict;
        return verdict === 'accepted' ? 'duplicate' : verdict;
      }
      // Other content with this id is being published. If that fails, or is itself the conflict, the look-up decides.
      const verdict = await flight.verdict.catch(() => 'conflict');
      if (verdict !== 'conflict') return 'conflict';
    }
  }

  #depart(envelope: AcceptedEnvelope, sender: Sender): Promise<Verdict> {
    const { id, contentHash: hash } = envelope;
    const verdict = this.#decide(envelope, sender).then(
      (decided) => {
        if (decided === 'accepted')
          void this.remembered.markPublished({ id, hash }).then(() => this.#flights.delete(id));
        else this.#flights.delete(id);
        return decided;
      },
      (error: unknown) => {
        this.#flights.delete(id);
        throw error;
      },
    );
    this.#flights.set(id, { hash, verdict });
    return verdict;
  }

  async #decide(envelope: AcceptedEnvelope, sender: Sender): Promise<Verdict> {
    const mark = await this.remembered.find(envelope.id);
    if (mark !== undefined) return mark.hash === envelope.contentHash ? 'duplicate' : 'conflict';
    const published = this.timePublish();
    await this.publisher.publish({
      topic: topicOf(this.settings.topicPrefix, envelope.type),
      key: envelope.key,
      value: envelope.bytes,
      headers: recordHeaders({
        envelope,
        source: sender.clientId,
        ceSource: this.settings.ceSource,
        acceptedAt: this.now(),
        traceparent: sender.traceparent,
      }),
    });
    published();
    return 'accepted';
  }
}
