import { Guesses, type NetworkFailures } from '@relay/access';
import { ProblemError } from '@relay/problem';
import { spentHeaders } from '@relay/http';

/** Counts failed tokens and fixed credentials by network, over all processes. */
export class NetworkGuesses extends Guesses {
  constructor(private readonly failures: NetworkFailures) {
    super();
  }

  isHeldBack(address: string): boolean {
    return this.failures.isKnownBlocked(address);
  }

  async miss(address: string): Promise<ProblemError | undefined> {
    const spent = await this.failures.fail(address);
    if (spent === undefined) return undefined;
    return new ProblemError('too-many-requests', 'Your network sent too many credentials that belong to nobody.', {
      headers: spentHeaders(spent.limit, spent.waitS),
    });
  }
}
