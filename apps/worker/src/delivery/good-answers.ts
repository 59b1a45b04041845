import { Injectable } from '@nestjs/common';

/** How often this worker keeps what an endpoint answered to a successful attempt. */
const EVERY_MS = 600_000;
/** Webhooks remembered; beyond, all of them are due again. */
const MOST = 50_000;

/** Chooses the successful attempts of a webhook whose answers are kept: few, so that keeping them costs nothing. */
@Injectable()
export class GoodAnswers {
  readonly #lastAt = new Map<string, number>();

  /** Whether the answer to this attempt is to be kept; the next one is then due ten minutes later. */
  isDue(webhookId: string, now: number): boolean {
    if (now - (this.#lastAt.get(webhookId) ?? -Infinity) < EVERY_MS) return false;
    if (this.#lastAt.size >= MOST) this.#lastAt.clear();
    this.#lastAt.set(webhookId, now);
    return true;
  }
}
