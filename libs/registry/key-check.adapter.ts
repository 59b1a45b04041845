import { setTimeout as delay } from 'node:timers/promises';
import type { Keyring } from '@relay/keyring';
import type { LogView } from '@relay/redis';
import { reasonOf, type Log } from '@relay/telemetry';
import type { Redis } from 'ioredis';
import { keyKeys } from './registry.script.js';

export type KeyCommand =
  | { readonly kind: 'register'; readonly kid: string; readonly check: string }
  | { readonly kind: 'forget'; readonly kid: string };

const LOOK_MS = 5_000;

/**
 * Compares the encryption keys of this process with the keys that stored values may be sealed with. The registry has a check
 * value for each key that was ever used to write, until an operator removes it. A process that lacks some of these keys
 * continues; only the values that it cannot open must wait. A process must not work at all if it has none of these keys, or
 * if its writing key has the name of a registered key but another value.
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

  /** Why this process must not work, as a text for the operator; undefined if it may work. It is updated by `look`. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /**
   * Compares the keys. It also registers the writing key of this process, unless the key is already known or the process may
   * do nothing.
   * @returns the new `fault`
   * @throws Error if Redis or the log cannot be reached
   */
  async look(): Promise<string | undefined> {
    await this.registry.current();
    const known = await this.redis.hgetall(keyKeys[0]);
    const { checks } = this.keyring;
    this.keyring.missing = new Set(missingKeys(known, checks));
    this.#fault = refusalOf(known, checks);
    const [[kid, check] = []] = checks;
    // This is done only once: if an operator removes the key while this process runs, the key must stay removed.
    if (this.#fault === undefined && kid !== undefined && check !== undefined && !this.#isRegistered) {
      if (known[kid] === undefined) {
        await this.registry.change({ kind: 'register', kid, check });
        // Before the first value is sealed with this key, every process that lacks the key must have noticed that it exists.
        if (Object.keys(known).length > 0) await delay(LOOK_MS + 1_000);
      }
      this.#isRegistered = true;
    }
    this.#tell(faultOfKeys(known, checks));
    return this.#fault;
  }

  /** Checks at intervals. Calls `changed` when a fault begins or changes, and with undefined when it ends. */
  start(changed: (fault: string | undefined) => void = () => undefined): void {
    setInterval(() => {
      const before = this.#fault;
      this.look().then(
        (fault) => fault !== before && changed(fault),
        // The last result stays valid. Other parts of the process report that Redis or the log cannot be reached.
        (error: unknown) => this.log.debug('keys.not_compared', reasonOf(error)),
      );
    }, LOOK_MS).unref();
  }

  #tell(missing: string | undefined): void {
    if (missing === this.#told) return;
    this.#told = missing;
    if (missing !== undefined) this.log.error('keys.missing', missing);
  }
}

/** Check values by name of the key. */
type Known = Readonly<Record<string, string>>;
/** Check values of a process's keys by name. The writing key is the first. */
type Ours = ReadonlyMap<string, string>;

/** Returns the names of registered keys that a process does not have, or has with another value. */
const missingKeys = (known: Known, ours: Ours): string[] =>
  Object.keys(known)
    .filter((kid) => ours.get(kid) !== known[kid])
    .toSorted();

/**
 * Describes which registered keys a process lacks; undefined if it has them all. It can still open values of the other keys.
 */
export function faultOfKeys(known: Known, ours: Ours): string | undefined {
  const missing = missingKeys(known, ours);
  const lacking = missing.filter((kid) => !ours.has(kid));
  const other = missing.filter((kid) => ours.has(kid));
  const faults = [
    ...(lacking.length === 0 ? [] : [`lacks ${lacking.join(', ')}`]),
    ...(other.length === 0 ? [] : [`has another key under the name ${other.join(', ')}`]),
  ];
  if (faults.length === 0) return undefined;
  return `ENCRYPTION_KEYS ${faults.join(' and ')}: stored values may be sealed with it; put it back, or \`relay keys forget\` it`;
}

/**
 * Returns why a process must not work; undefined if it may. There are two reasons. It has none of the registered keys, so it
 * cannot open any value. Or its writing key has the name of a registered key but another value, so no other process could
 * open the values that it writes.
 */
export function refusalOf(known: Known, ours: Ours): string | undefined {
  const missing = missingKeys(known, ours);
  const [writing = ''] = ours.keys();
  const isForeign = missing.length > 0 && missing.length === Object.keys(known).length;
  return isForeign || (ours.has(writing) && missing.includes(writing)) ? faultOfKeys(known, ours) : undefined;
}

/**
 * Returns why a command must not seal values: for the reasons of `refusalOf`, or because no process has its writing key yet.
 */
export function sealingFault(known: Known, ours: Ours): string | undefined {
  const [writing = ''] = ours.keys();
  const isNew = Object.keys(known).length > 0 && known[writing] === undefined;
  const refusal = refusalOf(known, ours);
  if (refusal !== undefined || !isNew) return refusal;
  return `ENCRYPTION_KEYS begins with ${writing}, which no process seals with yet: restart ingress and worker with it first, or put it behind`;
}
