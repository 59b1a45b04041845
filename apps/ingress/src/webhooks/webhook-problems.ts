import { Injectable } from '@nestjs/common';
import type { Caller } from '@relay/access';
import { eventTypes } from '@relay/events';
import { checkDestination } from '@relay/egress';
import { WaitingJobs } from '@relay/jobs';
import { ProblemError } from '@relay/problem';
import { isParked } from '@relay/progress';
import { Shards } from '@relay/redis';
import { policyOf, type IngressConfig } from '@relay/settings';
import {
  WebhookId,
  type WebhookDetails,
  type WebhookDraft,
  type WebhookInput,
  type WebhookStore,
} from '@relay/webhooks';
import type { TestResult } from './test-deliveries.js';

export const notFound = (): ProblemError =>
  new ProblemError('not-found', 'You have no such webhook: GET /webhooks lists yours.');

/** @param id the id of the existing webhook, if the caller may see the webhook */
export const taken = (id?: string): ProblemError =>
  new ProblemError(
    'conflict',
    'You have a webhook with this eventType and endPointUrl already: PATCH /webhooks/{id} changes it.',
    {
      members: id === undefined ? {} : { id },
    },
  );

export const crowdedOrigin = (most: number): ProblemError =>
  new ProblemError(
    'conflict',
    `You have ${most} webhooks of this eventType at the origin of this endPointUrl, which is the limit.`,
  );

export const staleVersion = (): ProblemError =>
  new ProblemError('precondition-failed', 'The webhook has changed since the version that If-Match names.');

export const unverified = ({ status, detail }: TestResult): ProblemError =>
  new ProblemError(
    'conflict',
    `The endpoint must answer a test delivery with 2xx first; ${status === undefined ? (detail ?? 'it failed') : `the endpoint answered ${status}`}.`,
  );

/**
 * @throws ProblemError `invalid-body` if the type is for other partners only. The answer is the same as for an unknown type
 */
export function assertVisible(eventType: string, partnerId: string): void {
  if (eventTypes.isFor(eventType, partnerId)) return;
  const detail = eventTypes.unknown('registrable', eventType);
  throw new ProblemError('invalid-body', 'The body is not what this operation accepts.', {
    errors: [{ pointer: '/eventType', detail }],
  });
}

/** @throws ProblemError `invalid-body` if the relay may not connect to the endpoint */
export function draftOf<Input extends WebhookInput>(input: Input, config: IngressConfig): Input & WebhookDraft {
  return { ...input, ...destinationOf(input.endPointUrl, config) };
}

/** @throws ProblemError as `draftOf` */
export function destinationOf(endPointUrl: string, config: IngressConfig): Pick<WebhookDraft, 'url' | 'origin'> {
  const check = checkDestination(endPointUrl, policyOf(config));
  if (check.ok) return { url: check.url, origin: check.origin };
  throw new ProblemError('invalid-body', 'The relay does not deliver to this endPointUrl.', {
    errors: [{ pointer: '/endPointUrl', detail: check.detail }],
  });
}

/** Returns a webhook of the partner. @throws ProblemError `not-found`, even if `given` is no UUID */
export async function ownWebhook(webhooks: WebhookStore, partnerId: string, given: string): Promise<Found> {
  const id = WebhookId.safeParse(given);
  const found = id.success ? await webhooks.find(partnerId, id.data) : undefined;
  if (found === undefined) throw notFound();
  return found;
}

type Found = NonNullable<Awaited<ReturnType<WebhookStore['find']>>>;

/** Whether the caller may see a webhook of its partner. A portal token may be limited to some webhooks. */
export const isShown = ({ portal }: Caller, webhookId: string): boolean =>
  portal?.webhookIds?.includes(webhookId.toLowerCase()) ?? true;

/** Reads the status and the number of waiting deliveries of a webhook, in the form that its partner sees. */
@Injectable()
export class WebhookWaiting {
  readonly #jobs: WaitingJobs;

  constructor(private readonly shards: Shards) {
    this.#jobs = new WaitingJobs(shards);
  }

  /** @param status the status of the registration */
  async of(id: string, status: WebhookDetails['status']): Promise<Pick<WebhookDetails, 'status' | 'waiting'>> {
    const [waiting, parked] = await Promise.all([this.#jobs.of(id), isParked(this.shards, id)]);
    return { status: status === 'active' && parked ? 'parked' : status, waiting };
  }
}
