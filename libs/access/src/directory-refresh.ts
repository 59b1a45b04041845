import { reasonOf, type ThrottledLog } from '@relay/telemetry';

const EVERY_MS = 2_000;

/** A view of Redis that a process keeps in memory; `refresh` rejects while Redis is away. */
interface Kept {
  refresh(): Promise<void>;
}

/** Keeps the clients and revoked tokens in memory at most two seconds behind Redis. Nest calls its lifecycle hooks. */
export class DirectoryRefresh {
  #timer: NodeJS.Timeout | undefined;
  #running = false;

  constructor(
    private readonly kept: readonly Kept[],
    private readonly log: ThrottledLog,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    this.#timer = setInterval(() => void this.#refresh(), EVERY_MS).unref();
    await this.#refresh();
  }

  onApplicationShutdown(): void {
    clearInterval(this.#timer);
  }

  // A frozen Redis answers later than the next tick: one refresh at a time.
  async #refresh(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    try {
      await Promise.all(this.kept.map((kept) => kept.refresh()));
    } catch (error) {
      this.log.warn('clients.remembered', 'Redis does not answer: only clients seen before are let in until it does', {
        reason: reasonOf(error),
      });
    } finally {
      this.#running = false;
    }
  }
}
