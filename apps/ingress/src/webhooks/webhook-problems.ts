import type { Caller } from '@relay/access';
import { checkDestination, type EgressPolicy } from '@relay/egress';
import { ProblemError, type MemberFault } from '@relay/problem';
import { WebhookId, type WebhookDraft, type WebhookInput, type WebhookStore } from '@relay/webhooks';
import type { TestResult } from './test-deliveries.js';

export const notFound = (): ProblemError => new ProblemError('not-found', 'You have no such webhook.');

/** @param id of that webhook, for whom it is shown */
export const taken = (id?: string): ProblemError =>
  new ProblemError('conflict', 'You have a webhook with this eventType and endPointUrl.', {
    members: id === undefined ? {} : { id },
  });

export const several = (ids: readonly string[]): ProblemError =>
  new ProblemError('conflict', 'You have several webhooks of this eventType: name the id.', { members: { ids } });

export const crowdedOrigin = (most: number): ProblemError =>
  new ProblemError(
    'conflict',
    `You have ${most} webhooks of this eventType at the origin of this endPointUrl, which is the limit.`,
  );

export const staleVersion = (): ProblemError =>
  new ProblemError('precondition-failed', 'The webhook has changed since the version that If-Match names.');

export const fixedMembers = (errors: readonly MemberFault[]): ProblemError =>
  new ProblemError('invalid-body', 'A patch cannot change these members.', { errors });

export const stoppedByOperator = (): ProblemError =>
  new ProblemError('conflict', 'An operator of the relay disabled this webhook: only an operator enables it.');

export const unverified = ({ status, detail }: TestResult): ProblemError =>
  new ProblemError(
    'conflict',
    `The endpoint must answer a test delivery with 2xx first; ${status === undefined ? (detail ?? 'it failed') : `the endpoint answered ${status}`}.`,
  );

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

/** A text that is no UUID is the id of no webhook. @throws ProblemError `not-found` */
export async function ownWebhook(webhooks: WebhookStore, partnerId: string, given: string): Promise<Found> {
  const id = WebhookId.safeParse(given);
  const found = id.success ? await webhooks.find(partnerId, id.data) : undefined;
  if (found === undefined) throw notFound();
  return found;
}

type Found = NonNullable<Awaited<ReturnType<WebhookStore['find']>>>;

/** Whether the caller may see a webhook of its partner: the holder of a portal token may be shown some of them only. */
export const isShown = ({ portal }: Caller, webhookId: string): boolean =>
  portal?.webhookIds?.includes(webhookId.toLowerCase()) ?? true;
