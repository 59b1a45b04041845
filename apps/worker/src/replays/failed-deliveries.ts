import { Inject, Injectable } from '@nestjs/common';
import { DeadLetterEndings, DeadLetterIndex, DeadLetterReader, DeadLetterService } from '@relay/dead-letters';
import { parseDeliveryId } from '@relay/delivery';
import type { EnvelopeRecord } from '@relay/events';
import { untilStored } from '@relay/jobs';
import { readRangeKey } from '@relay/progress';
import { RetryQueue } from '@relay/retry';
import { ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView } from '@relay/webhooks';

/** A `DeadLetterService` with a constructor that Nest can inject. */
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

/** A record that is in a range to deliver. `key` names the webhook or replay of the range. */
export interface InRange {
  readonly key: string;
  readonly record: EnvelopeRecord;
}

/**
 * Finds the deliveries of a replay that covers only dead letters, and makes jobs of them that are due at once. An operator's
 * replay of dead letters does the same. The jobs are stored before the dead letters are deleted, so that Redis always has at
 * least one of the two.
 */
@Injectable()
export class FailedDeliveries {
  constructor(
    @Inject(DeadLetterIndex) private readonly index: Pick<DeadLetterIndex, 'ofEnvelope'>,
    @Inject(ReplayedLetters) private readonly letters: Pick<ReplayedLetters, 'replayLetters'>,
    private readonly log: ThrottledLog,
  ) {}

  /**
   * Selects from `wanted` the deliveries that have to be made. For a replay that covers only dead letters, these are the
   * deliveries that have dead letters, with the ids of the dead letters. For other replays and for parked webhooks, these
   * are all deliveries in `wanted`.
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

  /** Makes jobs of the dead letters. Resolves with false if that is impossible or if the dead letters no longer exist. */
  async replay(letters: readonly string[]): Promise<boolean> {
    const { replayed } = await untilStored(() => this.letters.replayLetters(letters), this.log, {
      deadLetters: letters,
    });
    return replayed > 0;
  }
}
