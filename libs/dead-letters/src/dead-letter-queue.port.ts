import type { DeadLetter } from './dead-letter.js';

/** Takes dead letters. */
export interface DeadLetterQueue {
  /** Resolves when the letter is stored; adding one that is there already changes nothing. */
  bury(letter: DeadLetter): Promise<void>;
}
