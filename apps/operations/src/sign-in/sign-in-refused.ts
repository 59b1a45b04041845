import { isRedisAway } from '@relay/redis';
import { reasonOf } from '@relay/telemetry';
import * as oauth from 'oauth4webapi';
import { ForeignAnswer } from './identity-provider.adapter.js';

/** A sign-in that is refused. The message is for the person; `reason` is for the log. */
export class SignInRefused extends Error {
  override readonly name = 'SignInRefused';

  /**
   * @param status 403: the person is refused. 429: too many have failed. 503: the provider or Redis is at fault
   * @param isKnown whether the provider has identified the person
   */
  constructor(
    readonly status: 403 | 429 | 503,
    message: string,
    readonly reason: string,
    readonly isKnown = false,
  ) {
    super(message);
  }
}

/** @param name name of the provider */
export function refusalOf(error: unknown, name: string): SignInRefused {
  const refused = (status: 403 | 503, words: string) => new SignInRefused(status, words, causesOf(error));
  if (error instanceof ForeignAnswer)
    return refused(403, 'This answer does not belong to the sign-in that this browser began last.');
  if (error instanceof oauth.AuthorizationResponseError) {
    const said = error.error === 'access_denied' ? 'access was denied' : error.error;
    return refused(403, `${name} ended the sign-in: ${said}. ${error.error_description ?? ''}`.slice(0, 500));
  }
  if (error instanceof oauth.ResponseBodyError && error.error === 'invalid_grant')
    return refused(403, `${name} does not accept the code: it was used before, or has expired.`);
  if (error instanceof oauth.OperationProcessingError && error.code === oauth.JWT_TIMESTAMP_CHECK)
    return refused(503, `The clocks of the relay and of ${name} differ by more than 30 seconds.`);
  if (isRedisAway(error)) return refused(503, 'Redis does not answer at the moment.');
  // `fetch` rejects with a TypeError if there is no connection.
  if (['TypeError', 'TimeoutError'].includes((error as Error).name))
    return refused(503, `${name} does not answer at the moment.`);
  return refused(503, `The relay cannot accept what ${name} answered. Its log has the reason.`);
}

/** Returns the messages of an error and of its causes, and the error of a token endpoint, without a secret. */
export function causesOf(error: unknown): string {
  const { cause, error: code, error_description: said } = Object(error) as Record<string, unknown>;
  const parts = [reasonOf(error), code, said, cause instanceof Error ? causesOf(cause) : undefined];
  return parts
    .filter((part) => typeof part === 'string')
    .join(': ')
    .slice(0, 500);
}
