import type { DeadLetter } from './dead-letter.js';

export interface DeadLetterQueue {
  /** Resolves when the dead letter is stored; adding one that is stored already changes nothing. */
  addDeadLetter(letter: DeadLetter): Promise<void>;
}
