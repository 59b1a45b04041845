import { DeadLetter, DeadLetterEnding } from '@relay/dead-letters';
import { deliveryId } from '@relay/delivery';
import { IdSet } from './id-set.js';

export type LoggedDeadLetter =
  | { readonly kind: 'letter'; readonly id: string; readonly letter: DeadLetter }
  | { readonly kind: 'end'; readonly end: DeadLetterEnding };

/** Reads a record of `relay.dead-letters`; undefined for any other record. */
export function readLetter(value: Buffer | null): LoggedDeadLetter | undefined {
  try {
    const record: unknown = JSON.parse(value?.toString('utf8') ?? 'null');
    const end = DeadLetterEnding.safeParse(record);
    if (end.success) return { kind: 'end', end: end.data };
    const letter = DeadLetter.safeParse(record);
    // A dead letter without a body had lost it in Redis; the log has it, so the delivery is made again.
    return letter.success && letter.data.body !== ''
      ? { kind: 'letter', id: deliveryId(letter.data), letter: letter.data }
      : undefined;
  } catch {
    return undefined;
  }
}

/** All dead letters in the log, and those that an operator ended. Bodies are not kept; they are read again. */
export class LoggedDeadLetters {
  readonly #known = new IdSet();
  readonly #ended = new Map<string, DeadLetterEnding>();

  take(logged: LoggedDeadLetter): void {
    if (logged.kind === 'letter') this.#known.add(logged.id);
    else {
      this.#known.add(logged.end.deliveryId);
      this.#ended.set(logged.end.deliveryId, logged.end);
    }
  }

  /** The delivery is a dead letter, or was one until an operator ended it. */
  knows(id: string): boolean {
    return this.#known.has(id);
  }

  /** How an operator ended the dead letter; undefined if it still exists. */
  endOf(id: string): DeadLetterEnding | undefined {
    return this.#ended.get(id);
  }
}
