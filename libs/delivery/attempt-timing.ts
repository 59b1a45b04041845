/** When the steps to a connection were done, by `performance.now()`; a step that was not taken, or not done, has none. */
export interface ConnectTimes {
  resolvedAt?: number;
  /** TCP was connected; with a proxy, its tunnel. */
  connectedAt?: number;
}

/** The steps of one request on a connection, by `performance.now()`. */
export interface AskTimes extends ConnectTimes {
  /** It got the connection, which may have to be opened. */
  readonly beganAt: number;
  readonly isReused: boolean;
  /** The connection was opened, with TLS. */
  openedAt?: number;
  /** Set if the answer came in several pieces. */
  firstByteAt?: number;
}

/** Time that each step of an attempt took, in whole milliseconds. A step without a time was not taken, or did not end. */
export interface AttemptTiming {
  /** Whether the connection had carried an earlier attempt. */
  readonly reused: boolean;
  /** The wait for a free connection. */
  readonly waitMs?: number;
  readonly dnsMs?: number;
  readonly connectMs?: number;
  readonly tlsMs?: number;
  /** From the request to the first byte of the answer. */
  readonly firstByteMs?: number;
}

/**
 * Returns the timing of an attempt.
 * @param times undefined if it got no connection
 * @param answeredAt when it ended, if it was answered
 */
export function timingOf(
  startedAt: number,
  times: AskTimes | undefined,
  isTls: boolean,
  answeredAt: number | undefined,
): AttemptTiming {
  if (times === undefined) return { reused: false };
  const { beganAt, isReused, resolvedAt, connectedAt, openedAt, firstByteAt = answeredAt } = times;
  const sentAt = isReused ? beganAt : openedAt;
  return {
    reused: isReused,
    waitMs: Math.round(beganAt - startedAt),
    ...step('dnsMs', beganAt, resolvedAt),
    ...step('connectMs', resolvedAt ?? beganAt, connectedAt),
    ...step('tlsMs', connectedAt, isTls ? openedAt : undefined),
    ...step('firstByteMs', sentAt, firstByteAt),
  };
}

const step = (name: keyof AttemptTiming, from: number | undefined, to: number | undefined): Partial<AttemptTiming> =>
  from === undefined || to === undefined ? {} : { [name]: Math.round(to - from) };
