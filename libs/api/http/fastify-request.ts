import { AsyncLocalStorage } from 'node:async_hooks';
import type { AccessRule, Caller } from '@relay/access';
import { jsonPointer, parseJson } from '@relay/json';
import { type MemberFault, ProblemError } from '@relay/problem';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';

// Adds to Fastify’s request the members that the shell and the guards set.
declare module 'fastify' {
  interface FastifyRequest {
    /** The bytes of the body, which are also in `body`; undefined if the request has no body. */
    rawBody: Buffer | undefined;
    /** The part of the budget for bodies that `rawBody` uses. It is released when the answer is sent. */
    heldBody: { release(): void } | undefined;
    /** The authenticated caller. It is set before the shell reads the body, and stays undefined on a public path. */
    caller: Caller | undefined;
    /** Id of the envelope in the body, for the log. It is set when the envelope has been read. */
    envelopeId: string | undefined;
  }
}

export type { FastifyReply, FastifyRequest };

/**
 * Returns the authenticated caller.
 * @throws Error on a public path, which has no caller
 */
export function callerOf({ caller }: FastifyRequest): Caller {
  if (caller === undefined) throw new Error('This path lets in everyone');
  return caller;
}

export const callerIdOf = (request: FastifyRequest): string => callerOf(request).clientId;

const answers = new AsyncLocalStorage<FastifyReply>();

/**
 * Runs `handle` with this request as the present one. This applies to all code that `handle` calls, even after the answer.
 */
export const answering = <T>(reply: FastifyReply, handle: () => T): T => answers.run(reply, handle);

/** Returns the answer to the present request; undefined if the answer is already sent. */
export function presentReply(): FastifyReply | undefined {
  const reply = answers.getStore();
  return reply?.sent === false ? reply : undefined;
}

export const presentRequest = (): FastifyRequest | undefined => answers.getStore()?.request;

/**
 * Sets the `Link` header (RFC 8288) of a page that has a next page. The link is the address of this request with the start
 * of the next page, and is relative to the host.
 * @param next start of the next page; undefined on the last page
 * @param options `name` is the parameter for `next`. The path of `publicUrl` precedes the path of the request, because a
 *   proxy has removed it.
 */
export function linkToNext(
  request: FastifyRequest,
  reply: FastifyReply,
  next: string | number | undefined,
  { name = 'cursor', publicUrl = 'http://relay' } = {},
): void {
  if (next === undefined) return;
  const prefix = new URL(publicUrl).pathname.replace(/\/$/, '');
  const { pathname, searchParams } = new URL(request.url, publicUrl);
  searchParams.set(name, String(next));
  void reply.header('link', `<${prefix}${pathname}?${searchParams.toString()}>; rel="next"`);
}

export abstract class CallerFinder {
  /**
   * Returns the caller, or undefined if the rule admits everyone. Returns a promise only if memory does not know the caller.
   * Rejects with the error to answer if the caller is not admitted.
   */
  abstract callerOf(rule: AccessRule, request: FastifyRequest): Promise<Caller> | Caller | undefined;
}

/**
 * Returns the JSON value of a body. Its type is `unknown`, so that callers check it with `validate`.
 * @throws ProblemError `malformed-json`, or `invalid-body` if there is no body
 */
export function readJson(bytes: Buffer | undefined): unknown {
  if (bytes === undefined) throw new ProblemError('invalid-body', 'Send a JSON body: the request has none.');
  const result = parseJson(bytes);
  if (result.ok) return result.value;
  throw new ProblemError('malformed-json', 'The body is not the JSON that this relay accepts.', {
    errors: [result.fault],
  });
}

/**
 * Parses a value by a schema. The details of the error name the expected form, never the value that was sent.
 * @throws ProblemError `invalid-body` with one entry for each invalid member
 */
export function validate<S extends z.ZodType>(schema: S, value: unknown): z.infer<S> {
  const result = schema.safeParse(value, { error: expectation });
  if (result.success) return result.data;
  const errors = result.error.issues
    .flatMap(placed)
    .map(({ path, message }): MemberFault => ({ pointer: jsonPointer(path), detail: sentenceOf(path, message) }));
  throw new ProblemError('invalid-body', 'The body is not what this operation accepts.', { errors });
}

const FORMS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'a JSON object',
  record: 'a JSON object',
  array: 'a list',
  guid: 'a UUID',
  datetime: 'a time such as 2026-01-31T12:00:00Z',
};

const UNITS: Readonly<Record<string, string>> = { string: ' characters', array: ' entries' };

/** Returns the end of a sentence that begins with the member. zod calls it only if the schema has no text of its own. */
function expectation(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'unrecognized_keys') return 'is not known here';
  if (issue.code === 'invalid_type' && issue.input === undefined) return 'is missing';
  const allowed: unknown =
    issue.code === 'invalid_value' ? issue.values : issue.code === 'invalid_union' && issue['options'];
  if (Array.isArray(allowed)) {
    const values = allowed.map((value) => JSON.stringify(value));
    return `must be ${values.length > 1 ? 'one of ' : ''}${values.join(', ')}`;
  }
  if (issue.code === 'too_big' || issue.code === 'too_small') {
    const [bound, limit] = issue.code === 'too_big' ? ['at most', issue.maximum] : ['at least', issue.minimum];
    const unit = UNITS[issue.origin];
    if (unit !== undefined && issue.code === 'too_small' && issue.minimum === 1) return 'is empty';
    return `must ${unit === undefined ? 'be' : 'have'} ${bound} ${limit}${unit ?? ''}`;
  }
  const form =
    FORMS[issue.code === 'invalid_type' ? issue.expected : issue.code === 'invalid_format' ? issue.format : ''];
  return form === undefined ? undefined : `must be ${form}`;
}

/** Returns a fault as a sentence. A text of a schema is one already, or begins as that of `expectation`, or is the expected form. */
function sentenceOf(path: readonly PropertyKey[], message: string): string {
  const text = message.replace(/\.$/, '');
  const name = path.slice(path.findLastIndex((part) => typeof part === 'string')).join('.') || 'The body';
  return `${/^(?:is|must) /.test(text) ? `${name} ` : /^(?:an?|the) /.test(text) ? `${name}: ` : ''}${text}.`;
}

/** Returns each member at fault with its path; an unknown member is in the path too. */
const placed = (issue: z.core.$ZodIssue): { path: PropertyKey[]; message: string }[] =>
  (issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path]).map((path) => ({
    path,
    message: issue.message,
  }));

/**
 * Parses the parameters of a query.
 * @throws ProblemError `invalid-request` that names each unknown or invalid parameter and its expected form
 */
export function readQuery<S extends z.ZodType>(schema: S, query: unknown): z.output<S> {
  const read = schema.safeParse(query, {
    // A parameter that is repeated is a list.
    error: (issue) =>
      issue.code === 'invalid_type' && Array.isArray(issue.input) ? 'must be given once' : expectation(issue),
  });
  if (read.success) return read.data;
  const faults = read.error.issues.flatMap(placed).map(({ path, message }) => {
    const sentence = sentenceOf(path, message);
    return sentence.startsWith(String(path[0] ?? '')) ? sentence : `${path.join('.')}: ${sentence}`;
  });
  throw new ProblemError('invalid-request', `The query is not valid. ${faults.join(' ')}`);
}

/** Returns a version as a strong entity tag (RFC 9110 section 8.8.3). */
export const etagOf = (version: number): string => `"${version}"`;

const TAG = String.raw`(?:W/)?"[\x21\x23-\x7e]*"`;
/** Matches `*`, or a list of entity tags with commas between (RFC 9110 section 13.1.1). */
const IF_MATCH = new RegExp(String.raw`^(?:\*|${TAG}(?:[ \t]*,[ \t]*${TAG})*)$`);

/** Version that stands for a tag that the relay never issued. No webhook has this version. */
const FOREIGN = -1;

/**
 * Returns the versions in `If-Match`. Returns undefined if the header is missing or is `*`, because then any version
 * matches. A weak tag becomes a version that never matches.
 * @throws ProblemError `invalid-request` if the header is not a list of entity tags
 */
export function readIfMatch(header: string | undefined): readonly number[] | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  if (!IF_MATCH.test(text))
    throw new ProblemError('invalid-request', 'The header If-Match must be * or entity tags as ETag returns them.');
  if (text === '*') return undefined;
  const tags = text.match(new RegExp(TAG, 'g')) ?? [];
  return tags.map((tag) => Number(/^"(\d{1,15})"$/.exec(tag)?.[1] ?? FOREIGN));
}

type Order = Pick<FastifyRequest, 'method' | 'headers' | 'query' | 'rawBody'> & {
  readonly routeOptions: Pick<FastifyRequest['routeOptions'], 'config'>;
};

const NOTHING = z.strictObject({});

/**
 * Refuses a request for a change if it has something that the operation does not know. Otherwise, a request with `dryrun`
 * instead of `dryRun` makes the change for real. This function refuses unknown query parameters, a body that no handler
 * reads, and a precondition on a resource that has no version (RFC 9110 section 13.1.1: the method must not be performed).
 * If the handler reads the body, its schema refuses unknown members.
 * @throws ProblemError
 */
export function refuseUnknown({ method, headers, query, rawBody, routeOptions: { config } }: Order): void {
  if (config.access === undefined || method === 'GET' || method === 'HEAD') return;
  if (config.hasVersions !== true && readIfMatch(headers['if-match']) !== undefined)
    throw new ProblemError('precondition-failed', 'If-Match names a version, and this resource has none.');
  if (config.ignoresUnknown === true) return;
  const unknown = Object.keys(query as object);
  if (unknown.length > 0)
    throw new ProblemError('invalid-request', `The query is not valid. Not known here: ${unknown.join(', ')}.`);
  if (config.readsBody !== true && rawBody !== undefined) validate(NOTHING, readJson(rawBody));
}
