import { checkDestination, type EgressPolicy } from '@relay/egress';
import { ProblemError } from '@relay/problem';
import type { WebhookDraft, WebhookInput } from '@relay/webhooks';

const MAX_URL = 2_048;

/** @throws ProblemError `invalid-body` when the relay may not connect to the endpoint */
export function draftOf<Input extends WebhookInput>(input: Input, policy: EgressPolicy): Input & WebhookDraft {
  return { ...input, ...destinationOf(input.endPointUrl, policy) };
}

/** @throws ProblemError as `draftOf` */
export function destinationOf(
  endPointUrl: string,
  policy: EgressPolicy,
): { readonly url: string; readonly origin: string } {
  const check = checkDestination(endPointUrl, policy);
  if (!check.ok) throw deniedDestination(check.detail);
  // What a parser percent-encodes may be many times as long as what was written.
  if (check.url.length > MAX_URL)
    throw deniedDestination(`endPointUrl must have at most ${MAX_URL} characters once it is percent-encoded`);
  return { url: check.url, origin: check.origin };
}

const deniedDestination = (detail: string): ProblemError =>
  new ProblemError('invalid-body', 'The relay does not deliver to this endPointUrl.', {
    errors: [{ pointer: '/endPointUrl', detail }],
  });
