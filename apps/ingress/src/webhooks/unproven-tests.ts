import { setTimeout as delay } from 'node:timers/promises';
import type { OriginProofs } from '@relay/breaker';
import { ProblemError } from '@relay/problem';
import { spentHeaders, type SharedQuota } from '@relay/http';

/** Concurrent tests in a process of an origin that has never answered 2xx. */
const AT_ONCE = 2;
/** Longest wait of a test for the ones before it: a 2xx among them releases it. */
const WAIT_MS = 5_000;

/** Keeps the tests of all partners from flooding an origin until it has answered 2xx once. */
export class UnprovenTests {
  /** Running tests by origin; none rejects. */
  readonly #running = new Map<string, Set<Promise<unknown>>>();

  constructor(
    private readonly proofs: Pick<OriginProofs, 'prove' | 'proven'>,
    /** Quota of each such origin, over all partners and processes. */
    private readonly quota: Pick<SharedQuota, 'consume' | 'quota'>,
  ) {}

  /**
   * @param isDelivered whether the test was answered 2xx
   * @throws ProblemError `too-many-requests`
   */
  async run<T>(origin: string, send: () => Promise<T>, isDelivered: (result: T) => boolean): Promise<T> {
    if (await this.#isProven(origin)) return this.#told(origin, await send(), isDelivered);
    const waitedUntil = performance.now() + WAIT_MS;
    for (
      let running = this.#running.get(origin);
      running && running.size >= AT_ONCE;
      running = this.#running.get(origin)
    ) {
      const leftMs = waitedUntil - performance.now();
      if (leftMs <= 0)
        throw tooMany('Tests of this endpoint are running, and it has never answered 2xx.', { 'retry-after': '5' });
      await Promise.race([...running, delay(leftMs, undefined, { ref: false })]);
      if (await this.#isProven(origin)) return this.#told(origin, await send(), isDelivered);
    }
    return this.#counted(origin, async () => {
      const { isSpent, resetS } = await this.quota.consume(origin);
      if (isSpent)
        throw tooMany(
          'This endpoint has been tested too often for now: it has never answered 2xx.',
          spentHeaders(this.quota.quota, resetS),
        );
      return this.#told(origin, await send(), isDelivered);
    });
  }

  async #counted<T>(origin: string, run: () => Promise<T>): Promise<T> {
    const running = this.#running.get(origin) ?? new Set();
    this.#running.set(origin, running);
    const result = run();
    const ended = result.catch(() => undefined);
    running.add(ended);
    try {
      return await result;
    } finally {
      running.delete(ended);
      if (running.size === 0) this.#running.delete(origin);
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

  async #told<T>(origin: string, result: T, isDelivered: (result: T) => boolean): Promise<T> {
    // After a failure of the store the next 2xx records it.
    if (isDelivered(result)) await this.proofs.prove(origin).catch(() => undefined);
    return result;
  }
}

const tooMany = (detail: string, headers: Readonly<Record<string, string>>): ProblemError =>
  new ProblemError('too-many-requests', detail, { headers });
