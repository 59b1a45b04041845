import { AsyncLocalStorage } from 'node:async_hooks';
import type { AccessRule, Caller } from '@relay/access';
import { jsonPointer, parseJson } from '@relay/json';
import { type MemberFault, ProblemError } from '@relay/problem';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';

// Extends Fastify’s request by the members that the shell and the guards set.
declare module 'fastify' {
  interface FastifyRequest {
    /** The bytes of the body, also in `body`; undefined if there are none. */
    rawBody: Buffer | undefined;
    /** The share of the body budget that `rawBody` uses until the answer. */
    heldBody: { release(): void } | undefined;
    /** Set before the shell reads the body; undefined on a public path. */
    caller: Caller | undefined;
    /** Set when the envelope in the body is read, for the log. */
    envelopeId: string | undefined;
  }
}

export type { FastifyReply, FastifyRequest };

/** Returns the caller on a path that is not public. */
export function callerOf({ caller }: FastifyRequest): Caller {
  if (caller === undefined) throw new Error('This path lets in everyone');
  return caller;
}

export const callerIdOf = (request: FastifyRequest): string => callerOf(request).clientId;

const answers = new AsyncLocalStorage<FastifyReply>();

/** Runs `handle` with this request as the present one, for all code that it calls and for work that outlasts the answer. */
export const answering = <T>(reply: FastifyReply, handle: () => T): T => answers.run(reply, handle);

/** Returns the answer to the present request; undefined once it is sent. */
export function presentReply(): FastifyReply | undefined {
  const reply = answers.getStore();
  return reply?.sent === false ? reply : undefined;
}

export const presentRequest = (): FastifyRequest | undefined => answers.getStore()?.request;

/**
 * Sets the `Link` header of a page that is not the last (RFC 8288): the address of this request with the start of the next page.
 * It is relative to the address of the request.
 * @param next start of the next page; undefined on the last page
 * @param options `name`: the parameter for `next`; `publicUrl`: its path, which a proxy cut off, precedes the path of the request
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
   * Returns undefined if the rule admits everyone, and no promise if memory knows the caller. Rejects with the error to answer
   * if the caller is not admitted.
   */
  abstract callerOf(rule: AccessRule, request: FastifyRequest): Promise<Caller> | Caller | undefined;
}

/**
 * Returns the JSON value of a body, as `unknown` for `validate`.
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
 * Parses the value by its schema. The details name the expected form, never the value that was sent.
 * @throws ProblemError `invalid-body` with one entry for each invalid member
 */
export function validate<S extends z.ZodType>(schema: S, value: unknown): z.infer<S> {
  const result = schema.safeParse(value, { error: expectation });
  if (result.success) return result.data;
  const errors = result.error.issues.flatMap(faultsOf);
  throw new ProblemError('invalid-body', 'The body is not what this operation accepts.', { errors });
}

// zod calls this only if the schema has no text of its own.
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

/**
 * Parses the parameters of a query.
 * @throws ProblemError `invalid-request` that names each unknown or wrong parameter, and its expected form
 */
export function readQuery<S extends z.ZodType>(schema: S, query: unknown): z.output<S> {
  const read = schema.safeParse(query);
  if (read.success) return read.data;
  const faults = read.error.issues.map(({ path, message }) => [...path, message.replace(/\.$/, '')].join(': '));
  throw new ProblemError('invalid-request', `The query is not valid. ${faults.join('. ')}.`);
}

/** Returns a version as a strong entity tag (RFC 9110 section 8.8.3). */
export const etagOf = (version: number): string => `"${version}"`;

const TAG = String.raw`(?:W/)?"[\x21\x23-\x7e]*"`;
/** `*`, or entity tags with commas between them (RFC 9110 section 13.1.1). */
const IF_MATCH = new RegExp(String.raw`^(?:\*|${TAG}(?:[ \t]*,[ \t]*${TAG})*)$`);

/** Version for a tag that the relay never issued: no webhook has it. */
const FOREIGN = -1;

/**
 * Returns the versions in `If-Match`; undefined without the header and for `*`, which any version matches. A weak tag never
 * matches a strong one.
 * @throws ProblemError `invalid-request` if the header is no list of entity tags
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
 * Refuses a change or order with parameters that its operation does not know; otherwise `dryrun` instead of `dryRun` makes the
 * change for real. A schema refuses unknown members of a body that the handler reads. This function refuses unknown parameters,
 * a body that no handler reads, and a precondition on a resource without a version (RFC 9110 section 13.1.1: the method must not
 * be performed).
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
