import type { OnApplicationShutdown } from '@nestjs/common';
import type { KeptAdmin } from '@relay/kafka';
import type { AttemptIndex } from '@relay/search';

/** Injection token of the index of attempts; null where it is off. */
export const ATTEMPT_INDEX = Symbol('AttemptIndex');

/** What the story of an envelope and the search have open. */
export class EnvelopeStores implements OnApplicationShutdown {
  constructor(
    private readonly index: AttemptIndex | null,
    private readonly stores: readonly { close(): Promise<void> }[],
    private readonly admin: KeptAdmin,
  ) {}

  /** Begins to follow the log of attempts. */
  start(): void {
    this.index?.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.index?.close(), this.admin.close(), ...this.stores.map((store) => store.close())]);
  }
}
