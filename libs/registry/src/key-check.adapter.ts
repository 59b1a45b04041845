import type { Keyring } from '@relay/keyring';
import type { LogView } from '@relay/redis';
import { reasonOf, type Log } from '@relay/telemetry';
import type { Redis } from 'ioredis';
import { faultOfKeys } from './key-faults.js';
import { keyKeys } from './key.script.js';

export type KeyCommand =
  | { readonly kind: 'register'; readonly kid: string; readonly check: string }
  | { readonly kind: 'forget'; readonly kid: string };

const LOOK_MS = 5_000;

/**
 * Checks that this process has every key that a stored value may be sealed with. The registry holds a check value of each key
 * that ever wrote, until an operator removes it. A process without one of these keys would fail deliveries that others can make.
 */
export class KeyCheck {
  #fault: string | undefined = 'not compared yet';
  #told: string | undefined;
  #isRegistered = false;

  constructor(
    private readonly redis: Redis,
    private readonly registry: LogView<KeyCommand>,
    private readonly keyring: Keyring,
    private readonly log: Log,
  ) {}

  /** The fault found by the last check, for the operator; undefined when every key is there. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Compares the keys, and registers the writing key unless it is known or other keys are missing. Rejects when Redis or the log is away. */
  async look(): Promise<string | undefined> {
    await this.registry.current();
    const known = await this.redis.hgetall(keyKeys[0]);
    this.#fault = faultOfKeys(known, this.keyring.checks);
    const [kid = ''] = this.keyring.kids;
    const check = this.keyring.checks.get(kid);
    // Once: a key that an operator removes while this process runs stays removed.
    if (this.#fault === undefined && check !== undefined && !this.#isRegistered) {
      if (known[kid] === undefined) await this.registry.change({ kind: 'register', kid, check });
      this.#isRegistered = true;
    }
    this.#tell();
    return this.#fault;
  }

  /** Checks at intervals and calls `changed` with each new fault and at its end. */
  start(changed: (fault: string | undefined) => void = () => undefined): void {
    setInterval(() => {
      const before = this.#fault;
      this.look().then(
        (fault) => fault !== before && changed(fault),
        // The last result stands: other parts report that Redis or the log is away.
        (error: unknown) => this.log.debug('keys.not_compared', reasonOf(error)),
      );
    }, LOOK_MS).unref();
  }

  #tell(): void {
    if (this.#fault === this.#told) return;
    this.#told = this.#fault;
    if (this.#fault !== undefined) this.log.error('keys.missing', this.#fault);
  }
}
