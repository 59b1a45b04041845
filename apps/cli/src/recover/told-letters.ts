import { DeadLetter, DeadLetterEnding } from '@relay/dead-letters';
import { deliveryId } from '@relay/delivery';
import { IdSet } from './id-set.js';

export type ToldLetter =
  | { readonly kind: 'letter'; readonly id: string; readonly letter: DeadLetter }
  | { readonly kind: 'end'; readonly end: DeadLetterEnding };

/** A record of `relay.dead-letters`; undefined for what is none. */
export function readLetter(value: Buffer | null): ToldLetter | undefined {
  try {
    const record: unknown = JSON.parse(value?.toString('utf8') ?? 'null');
    const end = DeadLetterEnding.safeParse(record);
    if (end.success) return { kind: 'end', end: end.data };
    const letter = DeadLetter.safeParse(record);
    // One without its body tells that Redis had lost that; the log has it, so the delivery is made again.
    return letter.success && letter.data.body !== ''
      ? { kind: 'letter', id: deliveryId(letter.data), letter: letter.data }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Which dead letters there ever were, and which of them an operator ended. Bodies are not kept: they are read again. */
export class ToldLetters {
  readonly #known = new IdSet();
  readonly #ended = new Map<string, DeadLetterEnding>();

  take(told: ToldLetter): void {
    if (told.kind === 'letter') this.#known.add(told.id);
    else {
      this.#known.add(told.end.deliveryId);
      this.#ended.set(told.end.deliveryId, told.end);
    }
  }

  /** The delivery is a dead letter, or was one until an operator ended it. */
  knows(id: string): boolean {
    return this.#known.has(id);
  }

  /** How an operator ended the letter; undefined while it is still there. */
  endOf(id: string): DeadLetterEnding | undefined {
    return this.#ended.get(id);
  }
}
