import type { Settings } from './stack.js';

/** A Redis whose replica becomes the primary when the primary is gone. */
export interface FailoverRedis {
  /** What a process of the relay connects by, instead of a URL. */
  readonly settings: Settings;
  killPrimary(): Promise<void>;
  /** As when its machine stands still: it keeps its connections, answers nothing, and goes on where it was when called back. */
  freezePrimary(): Promise<() => void>;
  /** As before maintenance: the replica becomes the primary, and the old primary follows it. Both keep running. */
  handOver(): Promise<void>;
  /** The port of the primary that the others name. */
  primaryPort(): Promise<number>;
  close(): Promise<void>;
}
