import { setTimeout as delay } from 'node:timers/promises';
import { originOf, OriginTurns, type RedisOriginProofs } from '@relay/breaker';
import { ProblemError } from '@relay/problem';

/** Longest wait of a test for its turn: each other partner with a test of the origin comes at most once before it. */
const WAIT_MS = 10_000;
/** How often a waiting test looks whether the origin has answered 2xx, or its turn has come. */
const LOOK_MS = 250;

/** Keeps the tests of all partners from flooding an origin until it has answered 2xx once: partners take turns, one a second. */
export class UnprovenTests {
  readonly #turns = new OriginTurns();

  constructor(private readonly proofs: Pick<RedisOriginProofs, 'prove' | 'proven'>) {}

  /**
   * @param isDelivered whether the test was answered 2xx
   * @throws ProblemError `too-many-requests`
   */
  async run<T>(endpoint: string, send: () => Promise<T>, isDelivered: (result: T) => boolean): Promise<T> {
    const origin = originOf(endpoint);
    await this.#mayGo(endpoint, origin);
    const result = await send();
    // After a failure of the store the next 2xx records it.
    if (isDelivered(result)) await this.proofs.prove(origin).catch(() => undefined);
    return result;
  }

  async #mayGo(endpoint: string, origin: string): Promise<void> {
    const until = performance.now() + WAIT_MS;
    let turnAt: number | undefined;
    this.#turns.forget(performance.now());
    while (!(await this.#isProven(origin))) {
      const now = performance.now();
      turnAt ??= this.#turns.take({ endpoint, id: '' }, now);
      if (turnAt !== undefined && turnAt <= now) return;
      if (Math.max(now, turnAt ?? now) > until)
        throw new ProblemError(
          'too-many-requests',
          'Other tests are sent to this endpoint first: it has never answered 2xx, and gets one a second.',
          { headers: { 'retry-after': '5' } },
        );
      await delay(LOOK_MS);
    }
  }

  /** False while the store is away. */
  async #isProven(origin: string): Promise<boolean> {
    try {
      return (await this.proofs.proven([origin])).has(origin);
    } catch {
      return false;
    }
  }
}
