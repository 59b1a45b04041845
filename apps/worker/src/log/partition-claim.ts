import { randomUUID } from 'node:crypto';
import type { LogPartition, OwnedPosition, PartitionProgress } from '@relay/progress';
import { pause } from './pause.js';

/**
 * Longest wait in ms for the earlier owner of a partition to end its running deliveries, and the interval of the claims. The
 * owner releases the partition as soon as they have ended, mostly within milliseconds; longer deliveries are attempted twice. A
 * killed owner releases nothing, so this time adds to the recovery from a crash.
 */
const [HAND_OVER_MS, HAND_OVER_STEP_MS] = [3_000, 50];

/** Takes the ownership of a partition, under one token for as long as a worker reads it. */
export class PartitionClaim {
  readonly token = randomUUID();
  /** Id of a claim without an answer yet; Redis may still have received it. */
  #id: string | undefined;

  constructor(
    private readonly at: LogPartition,
    private readonly progress: Pick<PartitionProgress, 'own'>,
    private readonly handOverMs = HAND_OVER_MS,
  ) {}

  /** Claims the partition. Waits a moment for an owner with running deliveries, which are attempted twice otherwise. */
  async make(start: number | undefined, hasLeft: () => boolean): Promise<OwnedPosition | undefined> {
    const since = performance.now();
    // A claim after the release of a partition that has left keeps its next owner waiting.
    while (!hasLeft()) {
      const take = performance.now() - since >= this.handOverMs;
      this.#id ??= randomUUID();
      const found = await this.progress.own(this.at, this.token, { start, take, claim: this.#id });
      if (found !== 'owned-elsewhere') this.#id = undefined;
      if (found !== 'owned-elsewhere') return found;
      await pause(HAND_OVER_STEP_MS);
    }
    return undefined;
  }
}
