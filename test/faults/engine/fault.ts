import type { FailoverRedis } from '../../support/failover-redis.js';
import type { Settings } from '../../support/stack.js';
import type { Trial } from './trial.js';

/** Envelopes that a run accepts at least: three runs make a row of 3,000. */
export const ENVELOPES = 1_000;

/**
 * One fault. A file in `rows/` exports some as `faults`; the runner finds it by itself.
 *
 * The engine starts the servers, one ingress and the workers, registers the endpoints and begins the load; `run` does
 * the fault while it goes on; then the load ends and everything accepted must be delivered or a dead letter.
 */
export interface Fault {
  /** Row of the table in docs/evidence/faults.md, the numbers of the project's fault matrix. */
  readonly row: number;
  /** Names it on the command line, in the journal and in the table. */
  readonly name: string;
  /** What is done, as a sentence for the table. */
  readonly does: string;
  /** `none`, or what ran at each interruption plus what one flush had not marked yet. */
  readonly duplicates: 'none' | 'running';
  /** Longest time in milliseconds until what was interrupted goes on; default 10 s, which a kill -9 of a worker is not held to. */
  readonly recoversWithinMs?: number;
  /** Milliseconds a flush may take longer than on a machine with nothing else on it; default 0. */
  readonly flushSlackMs?: number;
  /** Envelopes at least in each run; default 1,000. */
  readonly envelopes?: number;
  /** Envelopes a second while the fault is done; default 100. */
  readonly rate?: number;
  /** Over the relay's settings. */
  readonly settings?: Settings;
  /** Share of the attempts at one endpoint that last 3 s and hold the high water of their partitions meanwhile; default 0. */
  readonly longShare?: number;
  /** Workers that run at the start; default 1. */
  readonly workers?: number;
  /** Ingresses that the source posts to in turn; default 1. */
  readonly ingresses?: number;
  /** Three brokers with a copy of each record on all of them, instead of one. */
  readonly cluster?: boolean;
  /** On a Redis Cluster of three primaries with a replica each, with so many shards of the relay. */
  readonly redisShards?: number;
  /** A Redis of its own that has a replica. */
  readonly redis?: () => Promise<FailoverRedis>;
  /** The servers are of no use for another fault afterwards. */
  readonly spoils?: boolean;
  /** Why it cannot be run on this machine; undefined where it can. */
  impossible?(): string | undefined;
  /** Before any process of the relay is started: what stands between it and its servers. */
  prepare?(trial: Trial): Promise<void>;
  run(trial: Trial): Promise<void>;
  /** What is asked beside the counts, after everything has settled: a sentence for each thing that is not as it must be. */
  check?(trial: Trial): Promise<readonly string[]> | readonly string[];
}

/** Times of a run, in milliseconds of `performance.now()`. */
export interface Interruption {
  /** Where it struck. */
  readonly at: number;
  /** When it began; what was not marked yet at that time may be done again. */
  readonly since: number;
  /** Whether what was written from `since` to `at` is gone. */
  readonly lostWrites: boolean;
  /** Whether it struck an envelope, where it struck only some. */
  readonly has?: (envelopeId: string) => boolean;
}

/** What one run of a fault came to. */
export interface Outcome {
  readonly accepted: number;
  /** Deliveries that the accepted envelopes came to. */
  readonly owed: number;
  readonly delivered: number;
  readonly dead: number;
  readonly lost: number;
  readonly duplicates: number;
  /** Duplicates that the promise allows for what was interrupted. */
  readonly allowed: number;
  /** Posts that the source had to repeat. */
  readonly repeated: number;
  readonly recoveriesMs: readonly number[];
  /** Until the ingress answered as before; undefined when nothing interrupted it. */
  readonly calmMs?: number;
  /** 99th percentile from acceptance to delivery of envelopes whose shard was not struck, while the fault lasted. */
  readonly othersP99Ms?: number;
  /** Longest time in which none of those was delivered. */
  readonly othersPauseMs?: number;
  /** Most lines of the log of one process within a second. */
  readonly linesPerSecond: number;
  /** Longest time for which other work on the machine held up the endpoints: with more than some 100 ms no time counts. */
  readonly heldUpMs: number;
  readonly tookMs: number;
  /** Processes that ended by themselves after the fault and were started again, as a supervisor does. */
  readonly ended: number;
  /** What is not as it must be. */
  readonly failures: readonly string[];
}

/** A step at which a process can be killed: see kill-point.mjs. */
export interface KillPoint {
  readonly point: string;
  /** The n-th time it is reached; chosen by the seed unless given. */
  readonly calls?: number;
  /** Only where the step is that of this envelope. */
  readonly only?: string;
  /** How long it may take to be reached. */
  readonly withinMs?: number;
}
