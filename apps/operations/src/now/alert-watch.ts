import type { AlertRule, Readings } from './alert-rules.js';

/** Without a reading for so long, nobody knows whether a rule was true all the time. */
const MAX_GAP_MS = 90_000;

export interface AlertState {
  readonly rule: AlertRule;
  readonly state: 'firing' | 'pending' | 'quiet' | 'unknown';
  /** Of rules that could be evaluated. */
  readonly value?: number;
  /** Epoch milliseconds: since when the rule is true. */
  readonly since?: number;
}

/**
 * Evaluates rules as Prometheus does: one fires when every reading since its `for` made it true. What was before this process
 * is unknown, so a rule may fire later than Prometheus says, and never earlier.
 */
export class AlertWatch {
  readonly #trueSince = new Map<string, number>();
  #last: { readonly at: number; readonly readings: Readings } | undefined;

  constructor(private readonly rules: readonly AlertRule[]) {}

  /** @param at epoch milliseconds */
  feed(readings: Readings, at: number): void {
    if (this.#last !== undefined && at - this.#last.at > MAX_GAP_MS) this.#trueSince.clear();
    this.#last = { at, readings };
    for (const { name, evaluated } of this.rules) {
      const value = evaluated?.valueOf(readings);
      if (evaluated === undefined || value === undefined || value <= evaluated.limit) this.#trueSince.delete(name);
      else if (!this.#trueSince.has(name)) this.#trueSince.set(name, at);
    }
  }

  /** By the latest reading. */
  states(): AlertState[] {
    const last = this.#last;
    return this.rules.map((rule): AlertState => {
      const value = last === undefined ? undefined : rule.evaluated?.valueOf(last.readings);
      if (last === undefined || value === undefined) return { rule, state: 'unknown' };
      const since = this.#trueSince.get(rule.name);
      if (since === undefined) return { rule, state: 'quiet', value };
      return { rule, state: last.at - since >= rule.forS * 1_000 ? 'firing' : 'pending', value, since };
    });
  }
}
