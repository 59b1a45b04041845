import { jsonPointer, parseJson } from '@relay/json';
import { ProblemError, type MemberFault } from '@relay/problem';
import type { z } from 'zod';

/**
 * The JSON value of a body; unknown, for `validate`.
 * @throws ProblemError `malformed-json`, or `invalid-body` when there is no body
 */
export function readJson(bytes: Buffer | undefined): unknown {
  if (bytes === undefined) throw new ProblemError('invalid-body', 'A JSON body is expected.');
  const result = parseJson(bytes);
  if (result.ok) return result.value;
  throw new ProblemError('malformed-json', 'The body is not the JSON that this relay accepts.', {
    errors: [result.fault],
  });
}

/**
 * Parses the value by its schema. The details name what is expected, never what was sent.
 * @throws ProblemError `invalid-body` with one entry for each invalid member
 */
export function validate<S extends z.ZodType>(schema: S, value: unknown): z.infer<S> {
  const result = schema.safeParse(value, { error: expectation });
  if (result.success) return result.data;
  const errors = result.error.issues.flatMap(faultsOf);
  throw new ProblemError('invalid-body', 'The body is not what this operation accepts.', { errors });
}

// zod calls this only where the schema has no text of its own.
const expectation = (issue: z.core.$ZodRawIssue): string | undefined =>
  issue.code === 'unrecognized_keys'
    ? 'is not known here'
    : issue.code === 'invalid_type' && issue.input === undefined
      ? 'is required'
      : undefined;

const faultsOf = (issue: z.core.$ZodIssue): MemberFault[] =>
  issue.code === 'unrecognized_keys'
    ? issue.keys.map((key) => ({ pointer: jsonPointer([...issue.path, key]), detail: issue.message }))
    : [{ pointer: jsonPointer(issue.path), detail: issue.message }];
