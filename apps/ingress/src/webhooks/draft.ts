import { checkDestination, type EgressPolicy } from '@relay/egress';
import { ProblemError } from '@relay/problem';
import type { WebhookDraft, WebhookInput } from '@relay/webhooks';

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
  return { url: check.url, origin: check.origin };
}

const deniedDestination = (detail: string): ProblemError =>
  new ProblemError('invalid-body', 'The relay does not deliver to this endPointUrl.', {
    errors: [{ pointer: '/endPointUrl', detail }],
  });
