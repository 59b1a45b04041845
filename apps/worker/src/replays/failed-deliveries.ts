import { Inject, Injectable } from '@nestjs/common';
import { DeadLetterEndings, DeadLetterIndex, DeadLetterReader, DeadLetterService } from '@relay/dead-letters';
import { parseDeliveryId } from '@relay/delivery';
import type { EnvelopeRecord } from '@relay/events';
import { untilStored } from '@relay/jobs';
import { readRangeKey } from '@relay/progress';
import { RetryQueue } from '@relay/retry';
import { ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView } from '@relay/webhooks';

/** The lib's dead letters, with a constructor that Nest can inject. */
@Injectable()
export class ReplayedLetters extends DeadLetterService {
  constructor(
    box: DeadLetterReader,
    @Inject(RetryQueue) queue: RetryQueue,
    webhooks: RedisWebhookView,
    ends: DeadLetterEndings,
  ) {
    super(box, queue, webhooks, ends, Date.now);
  }
}

/** A record in a range of a webhook or replay. */
export interface InRange {
  readonly key: string;
  readonly record: EnvelopeRecord;
}

/**
 * Finds the deliveries of a replay of dead letters only, and makes them jobs that are due at once, like an operator's replay of
 * dead letters. The jobs are stored before the dead letters are deleted, so Redis has one or the other at any moment.
 */
@Injectable()
export class FailedDeliveries {
  constructor(
    @Inject(DeadLetterIndex) private readonly index: Pick<DeadLetterIndex, 'ofEnvelope'>,
    @Inject(ReplayedLetters) private readonly letters: Pick<ReplayedLetters, 'replayLetters'>,
    private readonly log: ThrottledLog,
  ) {}

  /**
   * Returns all deliveries of parked webhooks and other replays. For a replay of dead letters only, returns the deliveries that
   * have dead letters, with the ids of these.
   */
  async of<T extends InRange>(wanted: readonly T[]): Promise<(T & { readonly letters: readonly string[] })[]> {
    const found = await Promise.all(
      wanted.map(async (each) => {
        if (!readRangeKey(each.key).isOfFailed) return [{ ...each, letters: [] }];
        const letters = await this.#lettersOf(each);
        return letters.length === 0 ? [] : [{ ...each, letters }];
      }),
    );
    return found.flat();
  }

  async #lettersOf({ key, record }: InRange): Promise<readonly string[]> {
    const { webhookId } = readRangeKey(key);
    const letters = (await this.index.ofEnvelope(record.envelope.id)).dead;
    return letters.filter((letter) => {
      const delivery = parseDeliveryId(letter);
      return delivery?.webhookId === webhookId && delivery.hash === record.envelope.contentHash;
    });
  }

  /** Makes the dead letters deliveries again. Resolves with false if that is impossible or the dead letters are gone. */
  async replay(letters: readonly string[]): Promise<boolean> {
    const { replayed } = await untilStored(() => this.letters.replayLetters(letters), this.log, {
      deadLetters: letters,
    });
    return replayed > 0;
  }
}
