import type { Compaction } from '@relay/registry';
import { reasonOf, type Log } from '@relay/telemetry';

const LOOK_MS = 5_000;
/** After a snapshot that came to nothing, and between two looks whether an older one's records are still there. */
const PAUSE_MS = 60_000;
const FREE_MS = 3_600_000;

export interface RegistryKeeperParts {
  readonly endStuckSnapshot: () => Promise<void>;
  /** Whether the log has grown so far beyond its last snapshot that another is worth it. */
  readonly isDue: () => Promise<boolean>;
  readonly compact: () => Promise<Compaction>;
  readonly free: () => Promise<boolean>;
  /** Of a clock that only goes forward. */
  readonly now: () => number;
  readonly log: Log;
}

/** Keeps the registry's log as short as what is registered is. Every worker does; the log lets one at a time. */
export class RegistryKeeper {
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #notBefore = 0;
  #freeAt = 0;

  constructor(private readonly parts: RegistryKeeperParts) {}

  start(): void {
    this.#timer = setInterval(() => void (this.#looking ??= this.#lookOnce()), LOOK_MS).unref();
  }

  /** Resolves when a snapshot that is being made has ended. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  async look(): Promise<void> {
    await this.parts.endStuckSnapshot();
    const now = this.parts.now();
    if (now < this.#notBefore) return;
    if (await this.parts.isDue()) {
      const { kind } = await this.parts.compact();
      if (kind !== 'compacted') this.#notBefore = now + PAUSE_MS;
    } else if (now >= this.#freeAt) {
      this.#freeAt = now + FREE_MS;
      // Of a process that died, or might not delete, between its snapshot and this.
      await this.parts.free();
    }
  }

  async #lookOnce(): Promise<void> {
    try {
      await this.look();
    } catch (error) {
      this.#notBefore = this.parts.now() + PAUSE_MS;
      const text = 'No snapshot of the registry was made; it is tried again in a minute, and meanwhile the log grows';
      this.parts.log.warn('registry.not_compacted', text, { reason: reasonOf(error) });
    } finally {
      this.#looking = undefined;
    }
  }
}
