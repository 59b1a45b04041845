import { checkDestination, type EgressPolicy } from '@relay/egress';
import { ProblemError } from '@relay/problem';
import type { WebhookDraft, WebhookInput } from '@relay/webhooks';

/** @throws ProblemError `invalid-body` when the relay may not connect to the endpoint */
export function draftOf<Input extends WebhookInput>(input: Input, policy: EgressPolicy): Input & WebhookDraft {
  const check = checkDestination(input.endPointUrl, policy);
  if (check.ok) return { ...input, url: check.url, origin: check.origin };
  throw deniedDestination(check.detail);
}

export const deniedDestination = (detail: string): ProblemError =>
  new ProblemError('invalid-body', 'The relay does not deliver to this endPointUrl.', {
    errors: [{ pointer: '/endPointUrl', detail }],
  });
