import type { ProblemError } from '@relay/problem';

/** Counts credentials that are nobody's, by the network they come from. */
export abstract class Guesses {
  /** Whether this process knows that the network had too many. Asks nobody. */
  abstract isHeldBack(address: string): boolean;

  /** Counts one; what to answer when it is one too many. */
  abstract miss(address: string): Promise<ProblemError | undefined>;
}
