/** What reading fills. */
export interface ReadingLoad {
  /** Bytes that Redis uses, and its `maxmemory`; 0: no limit. */
  readonly memory: { readonly used: number; readonly max: number };
  /** Deliveries that wait or run as jobs. */
  readonly queued: number;
}

const PAUSE_MEMORY = 0.7;
const RESUME_MEMORY = 0.6;
const RESUME_QUEUE = 0.8;
/** Well below what lets reading resume: nothing trims the history while none is written. */
const SCARCE_MEMORY = 0.5;

/**
 * Why reading pauses, in words, or undefined while it goes on. The log holds what is not read, so it is the buffer:
 * Redis must never be full. What lets it resume lies below what made it pause, so that it does not flutter.
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

/** Whether what the relay can do without should leave the memory to what it cannot. */
export const isScarce = (load: ReadingLoad): boolean => shareOf(load) > SCARCE_MEMORY;

const shareOf = ({ memory: { used, max } }: ReadingLoad): number => (max === 0 ? 0 : used / max);
