import { ProblemError } from '@relay/problem';
import type { z } from 'zod';

/**
 * Parses the parameters of a query.
 * @throws ProblemError `invalid-request` that names each unknown or wrong parameter, and what is expected
 */
export function readQuery<S extends z.ZodType>(schema: S, query: unknown): z.output<S> {
  const read = schema.safeParse(query);
  if (read.success) return read.data;
  const faults = read.error.issues.map(({ path, message }) => [...path, message].join(': '));
  throw new ProblemError('invalid-request', `The query is not valid. ${faults.join('. ')}.`);
}
