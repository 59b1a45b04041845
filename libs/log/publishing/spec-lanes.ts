import { Lanes, type Batch, type LaneClock, type LaneSettings } from './lanes.js';
import { PublishFailed, type OutgoingRecord } from './publisher.port.js';

export interface Sending {
  readonly batches: readonly Batch[];
  readonly texts: string[];
  /** Acknowledges the batches. @param bases offset of the first record of each batch */
  succeed(...bases: number[]): void;
  fail(reason?: PublishFailed['reason']): void;
}

/** Clock that moves only when a spec calls `pass`. */
class ManualClock implements LaneClock {
  #now = 1_000_000;
  #timers: { at: number; run: () => void }[] = [];

  now(): number {
    return this.#now;
  }
  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#now + ms, run };
    this.#timers.push(timer);
    return () => void (this.#timers = this.#timers.filter((other) => other !== timer));
  }
  soon(run: () => void): void {
    setImmediate(run);
  }
  get timers(): number {
    return this.#timers.length;
  }
  pass(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const [next] = this.#timers.filter((timer) => timer.at <= end).toSorted((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#now = next.at;
      next.run();
    }
    this.#now = end;
  }
}

const settings: LaneSettings = {
  deadlineMs: 8_000,
  maxWaitingBytes: 1_000_000,
  maxBatchBytes: 100_000,
  maxBatchRecords: 500,
  maxRequestBytes: 200_000,
  maxRequestsPerBroker: 1,
  retryWaitsMs: [100, 400],
};

/** Resolves after everything has happened that needs no time to pass. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

/** Opens lanes whose sender and clock are controlled by the spec. */
export function open(
  changes: Partial<LaneSettings> = {},
  leaderOf: (topic: string, partition: number) => number = () => 1,
) {
  const clock = new ManualClock();
  const sendings: Sending[] = [];
  const lanes = new Lanes(
    (batches) =>
      new Promise((resolve, reject) => {
        const texts = batches.flatMap((batch) => batch.records.map((record) => record.value.toString()));
        const fail = (reason: PublishFailed['reason'] = 'unavailable'): void =>
          reject(new PublishFailed(reason, reason));
        sendings.push({ batches, texts, succeed: (...bases) => resolve(bases), fail });
      }),
    leaderOf,
    { ...settings, ...changes },
    clock,
  );
  const outcomes: Record<string, string> = {};
  const add = (text: string, partition = 0, topic = 't'): void => {
    const record: OutgoingRecord = { topic, key: 'k', value: Buffer.from(text), headers: {} };
    void lanes.add(record, partition).then(
      (offset) => (outcomes[text] = offset === undefined ? 'stored' : `stored at ${offset}`),
      (error: unknown) => (outcomes[text] = error instanceof PublishFailed ? error.reason : String(error)),
    );
  };
  const sent = (): string[][] => sendings.map((sending) => sending.texts);
  const last = (): Sending => {
    const sending = sendings.at(-1);
    if (sending === undefined) throw new Error('nothing was sent');
    return sending;
  };
  return { clock, sendings, lanes, outcomes, add, sent, last };
}
