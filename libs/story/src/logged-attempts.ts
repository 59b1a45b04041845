import type { AttemptRecord } from '@relay/events';
import type { AttemptFinder } from '@relay/kafka';
import type { IncompletePart } from './envelope-story.js';
import type { AttemptsOfEnvelope } from './story-reader.js';

/** Attempts as the log has them, for a process without an index. It finds those of which a store knows the time. */
export class LoggedAttempts implements AttemptsOfEnvelope {
  readonly part = 'kafka';
  readonly state = { isCurrent: true };

  /** @param lacking what a story misses because this has only attempts of which a store knows the time */
  constructor(
    private readonly finder: Pick<AttemptFinder, 'find'>,
    readonly lacking: readonly IncompletePart[] = [],
  ) {}

  async ofEnvelope(envelopeId: string, moments: readonly number[]): Promise<readonly AttemptRecord[]> {
    return moments.length === 0 ? [] : this.finder.find({ envelopeId, moments });
  }
}
