import type { ProblemError } from '@relay/problem';

/** Counts unknown credentials by the network of their sender. */
export abstract class Guesses {
  /** Whether this process knows that the network is beyond its limit. Reads memory only. */
  abstract isHeldBack(address: string): boolean;

  /** Counts an unknown credential. Returns the answer for a network beyond its limit. */
  abstract miss(address: string): Promise<ProblemError | undefined>;
}
