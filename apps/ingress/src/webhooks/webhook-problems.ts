import { ProblemError, type MemberFault } from '@relay/problem';
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
