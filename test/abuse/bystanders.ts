import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

export interface Start {
  readonly url: string;
  /** Tokens. */
  readonly source: string;
  readonly partner: string;
  readonly webhookId: string;
  readonly postsPerSecond: number;
  readonly looksPerSecond: number;
}

/** What they met since they were asked last. */
export interface Asked {
  /** Milliseconds that each answer took. */
  readonly times: number[];
  /** Ids of envelopes that were answered 202. */
  readonly accepted: string[];
  /** Requests that were answered otherwise than they should, or not at all. */
  readonly failed: string[];
}

/** A source that posts envelopes and a partner that looks at its webhooks, at a steady pace, while others attack. */
export class Bystanders {
  readonly accepted = new Set<string>();

  private constructor(private readonly child: ChildProcess) {}

  static begin(start: Start): Bystanders {
    const child = fork(join(import.meta.dirname, 'bystander.ts'), {
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    child.send(start);
    return new Bystanders(child);
  }

  /** What they met since this was called last. */
  async take(): Promise<Asked> {
    const told = once(this.child, 'message') as Promise<[Asked]>;
    this.child.send('take');
    const [asked] = await told;
    for (const id of asked.accepted) this.accepted.add(id);
    return asked;
  }

  /** What they meet in so long. */
  async during(ms: number): Promise<Asked> {
    await this.take();
    await delay(ms);
    return this.take();
  }

  async end(): Promise<void> {
    const gone = once(this.child, 'exit');
    this.child.disconnect();
    await gone;
  }
}

/** The time that 99 of 100 answers took at most. */
export function p99(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0;
}
