import { parseDeliveryId } from '@relay/delivery';
import type { EnvelopeRecord } from '@relay/events';
import { readRangeKey } from '@relay/progress';
import { untilStored } from '@relay/retry';
import type { ThrottledLog } from '@relay/telemetry';

/** A record for a webhook, in a range of it. */
export interface InRange {
  readonly key: string;
  readonly record: EnvelopeRecord;
}

export interface FailedDeliveriesParts {
  /** Ids of the dead letters of an envelope, whosever they are; some may be gone. */
  readonly lettersOf: (envelopeId: string) => Promise<readonly string[]>;
  /** Makes deliveries of letters again, which go then. @returns of how many; none of those that are gone */
  readonly replay: (letters: readonly string[]) => Promise<number>;
  readonly log: ThrottledLog;
}

/**
 * What a replay of dead letters only is about. Its deliveries are made as an operator's replay of letters makes them: as jobs
 * that are due at once, stored before the letters go, so that Redis, wherever it goes back to, has one or the other.
 */
export class FailedDeliveries {
  constructor(private readonly parts: FailedDeliveriesParts) {}

  /** Those that are wanted whatever became of them, and those that have dead letters, with the ids of these. */
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
    const letters = await this.parts.lettersOf(record.envelope.id);
    return letters.filter((letter) => {
      const delivery = parseDeliveryId(letter);
      return delivery?.webhookId === webhookId && delivery.hash === record.envelope.contentHash;
    });
  }

  /** Resolves when the letters are deliveries again; false where they cannot be, or were gone. */
  async replay(letters: readonly string[]): Promise<boolean> {
    return (await untilStored(() => this.parts.replay(letters), this.parts.log, { deadLetters: letters })) > 0;
  }
}
