import { ProblemError } from '@relay/problem';

export const notFound = (): ProblemError => new ProblemError('not-found', 'You have no such webhook.');

export const taken = (id: string): ProblemError =>
  new ProblemError('conflict', 'You have a webhook with this eventType and endPointUrl.', { members: { id } });

export const several = (ids: readonly string[]): ProblemError =>
  new ProblemError('conflict', 'You have several webhooks of this eventType: name the id.', { members: { ids } });

export const staleVersion = (): ProblemError =>
  new ProblemError('precondition-failed', 'The webhook has changed since the version that If-Match names.');
