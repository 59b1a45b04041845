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
 * Whether this process has every key that something may be sealed with: the registry knows a check value of each key that ever
 * wrote, until it is told to forget it. A process that lacks one would fail deliveries that others can make.
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

  /** In words for the operator; undefined when every key is there. As of the last look. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Compares, and makes the writing key known unless it is, or others are missing. Rejects when that cannot be asked. */
  async look(): Promise<string | undefined> {
    await this.registry.current();
    const known = await this.redis.hgetall(keyKeys[0]);
    this.#fault = faultOfKeys(known, this.keyring.checks);
    const [kid = ''] = this.keyring.kids;
    const check = this.keyring.checks.get(kid);
    // Once: what an operator has it forget while this process runs stays forgotten.
    if (this.#fault === undefined && check !== undefined && !this.#isRegistered) {
      if (known[kid] === undefined) await this.registry.change({ kind: 'register', kid, check });
      this.#isRegistered = true;
    }
    this.#tell();
    return this.#fault;
  }

  /** Looks from time to time; `changed` is told of each fault and of its end. */
  start(changed: (fault: string | undefined) => void = () => undefined): void {
    setInterval(() => {
      const before = this.#fault;
      this.look().then(
        (fault) => fault !== before && changed(fault),
        // What is known stands: whoever cannot ask says so elsewhere.
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
