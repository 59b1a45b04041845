import { parseDeliveryId } from '@relay/delivery';
import type { EnvelopeRecord } from '@relay/events';
import { readRangeKey } from '@relay/progress';
import { untilStored } from '@relay/retry';
import type { ThrottledLog } from '@relay/telemetry';

/** A record for a webhook, in a range of it. */
export interface InRange {
  readonly key: string;
  readonly record: EnvelopeRecord;
  /** Of the delivery. */
  readonly id: string;
}

export interface FailedDeliveriesParts {
  /** Ids of the dead letters of an envelope, whosever they are; some may be gone. */
  readonly lettersOf: (envelopeId: string) => Promise<readonly string[]>;
  /** Ends letters whose delivery was made once more under that id. */
  readonly end: (letters: readonly string[], id: string) => Promise<void>;
  readonly log: ThrottledLog;
}

/** What a replay of dead letters only is about: which deliveries have one, and that it goes when its delivery is settled once more. */
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
    const { webhookId, series } = readRangeKey(key);
    const { id: envelopeId, contentHash } = record.envelope;
    const letters = await this.parts.lettersOf(envelopeId);
    return letters.filter((letter) => {
      const delivery = parseDeliveryId(letter);
      if (delivery?.webhookId !== webhookId || delivery.hash !== contentHash) return false;
      // One of this very replay was made before a crash.
      return delivery.series !== series;
    });
  }

  /** Before the delivery counts as settled: a crash in between leaves a letter or nothing to do, never a letter of what was delivered. */
  async ended(letters: readonly string[], id: string): Promise<void> {
    if (letters.length === 0) return;
    await untilStored(() => this.parts.end(letters, id), this.parts.log, { deliveryId: id });
  }
}
