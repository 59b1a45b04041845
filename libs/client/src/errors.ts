import type { OAuthError, Problem } from './api.gen.js';

export type { Problem };

/** An error answer, with its problem of RFC 9457. Match on `code`, which docs/errors.md lists. */
export class RelayProblem extends Error {
  override readonly name = 'RelayProblem';

  constructor(
    readonly status: number,
    /** The relay's problem; undefined when something else answered, such as a proxy. */
    readonly problem: Problem | undefined,
    /** Seconds until the next try, from `Retry-After`; undefined without one. */
    readonly retryAfterSeconds: number | undefined,
  ) {
    super(problem === undefined ? `the relay answered ${status}` : `${problem.title}: ${problem.detail}`);
  }

  /** Such as `conflict`; undefined when it is no problem of the relay's. */
  get code(): string | undefined {
    return this.problem?.type.split('#')[1];
  }
}

/** No access token was given, for a reason of RFC 6749 section 5.2, such as `invalid_client`. */
export class TokenRefused extends Error {
  override readonly name = 'TokenRefused';

  constructor(
    readonly status: number,
    /** Undefined when something else than the relay answered. */
    readonly error: OAuthError['error'] | undefined,
    /** As in RelayProblem. */
    readonly retryAfterSeconds: number | undefined,
  ) {
    super(`no access token: ${error ?? `answered ${status}`}`);
  }
}
