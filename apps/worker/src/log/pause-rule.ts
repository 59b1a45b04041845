/** Load of the stores that reading fills. */
export interface ReadingLoad {
  /** Bytes that Redis uses, and its `maxmemory`; 0: no limit. */
  readonly memory: { readonly used: number; readonly max: number };
  /** Deliveries in the queue, waiting or running. */
  readonly queued: number;
}

const PAUSE_MEMORY = 0.7;
const RESUME_MEMORY = 0.6;
const RESUME_QUEUE = 0.8;
/**
 * Share of `maxmemory` above which optional data is left out. It is well below the share at which reading resumes, because the
 * history is not trimmed while none of it is written.
 */
const SCARCE_MEMORY = 0.5;

/**
 * Returns why reading pauses, in words; undefined while reading continues. Redis must never be full, so the log is the buffer.
 * Reading resumes below the level at which it pauses, so that it does not flutter.
 */
export function pauseFor(load: ReadingLoad, isPaused: boolean, queueLimit: number): string | undefined {
  const share = shareOf(load);
  if (share >= (isPaused ? RESUME_MEMORY : PAUSE_MEMORY))
    return `Redis uses ${Math.round(share * 100)} % of its maxmemory; resumes below ${RESUME_MEMORY * 100} %`;
  const resumeAt = Math.floor(queueLimit * RESUME_QUEUE);
  if (isPaused ? load.queued > resumeAt : load.queued > queueLimit)
    return `${load.queued} deliveries are queued; resumes at ${resumeAt}`;
  return undefined;
}

/** Whether optional data is left out, so that accepted envelopes have the memory. */
export const isScarce = (load: ReadingLoad): boolean => shareOf(load) > SCARCE_MEMORY;

const shareOf = ({ memory: { used, max } }: ReadingLoad): number => (max === 0 ? 0 : used / max);
