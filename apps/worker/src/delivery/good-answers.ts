import { Injectable } from '@nestjs/common';

/** Interval in ms at which this worker keeps the answer to a successful attempt of a webhook. */
const EVERY_MS = 600_000;
/** Maximum of webhooks in memory; at the maximum all are forgotten, so each is due again. */
const MOST = 50_000;

/** Chooses the successful attempts of a webhook whose answers are kept: few, so that keeping them costs nothing. */
@Injectable()
export class GoodAnswers {
  readonly #lastAt = new Map<string, number>();

  /** Returns whether to keep the answer to this attempt. If so, the next one is due ten minutes later. */
  isDue(webhookId: string, now: number): boolean {
    if (now - (this.#lastAt.get(webhookId) ?? -Infinity) < EVERY_MS) return false;
    if (this.#lastAt.size >= MOST) this.#lastAt.clear();
    this.#lastAt.set(webhookId, now);
    return true;
  }
}
