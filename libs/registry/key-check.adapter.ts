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
 * Compares the keys of this process with those that a stored value may be sealed with. The registry holds a check value of each key
 * that ever wrote, until an operator removes it. A process that lacks some goes on: values that it cannot open wait. A process
 * without any of them, or whose writing key has a registered name and another value, does nothing.
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

  /** Why this process may do nothing, for the operator, by the last look. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Compares the keys, and registers the writing key unless it is known or the process may do nothing. Rejects when Redis or the log is away. */
  async look(): Promise<string | undefined> {
    await this.registry.current();
    const known = await this.redis.hgetall(keyKeys[0]);
    const { checks } = this.keyring;
    this.keyring.missing = new Set(missingKeys(known, checks));
    this.#fault = refusalOf(known, checks);
    const [[kid, check] = []] = checks;
    // Once: a key that an operator removes while this process runs stays removed.
    if (this.#fault === undefined && kid !== undefined && check !== undefined && !this.#isRegistered) {
      if (known[kid] === undefined) {
        await this.registry.change({ kind: 'register', kid, check });
        // Every process that lacks the key knows of it before the first value is sealed with it.
        if (Object.keys(known).length > 0) await delay(LOOK_MS + 1_000);
      }
      this.#isRegistered = true;
    }
    this.#tell(faultOfKeys(known, checks));
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

  #tell(missing: string | undefined): void {
    if (missing === this.#told) return;
    this.#told = missing;
    if (missing !== undefined) this.log.error('keys.missing', missing);
  }
}

/** Check values by the name of the key. */
type Known = Readonly<Record<string, string>>;
/** Check values of the keys of a process by name, the writing key first. */
type Ours = ReadonlyMap<string, string>;

/** Names of registered keys that a process lacks, or has another key for. */
const missingKeys = (known: Known, ours: Ours): string[] =>
  Object.keys(known)
    .filter((kid) => ours.get(kid) !== known[kid])
    .toSorted();

/** Names the registered keys that a process lacks; it can open values under the other keys. */
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
 * Why a process must not work. Either it has none of the keys that ever wrote, and opens nothing. Or its writing key has a registered
 * name and another value, and no other process opens what it writes.
 */
export function refusalOf(known: Known, ours: Ours): string | undefined {
  const missing = missingKeys(known, ours);
  const [writing = ''] = ours.keys();
  const isForeign = missing.length > 0 && missing.length === Object.keys(known).length;
  return isForeign || (ours.has(writing) && missing.includes(writing)) ? faultOfKeys(known, ours) : undefined;
}

/** Why a command may seal nothing: as `refusalOf`, or because no process has its writing key yet. */
export function sealingFault(known: Known, ours: Ours): string | undefined {
  const [writing = ''] = ours.keys();
  const isNew = Object.keys(known).length > 0 && known[writing] === undefined;
  const refusal = refusalOf(known, ours);
  if (refusal !== undefined || !isNew) return refusal;
  return `ENCRYPTION_KEYS begins with ${writing}, which no process seals with yet: restart ingress and worker with it first, or put it behind`;
}
