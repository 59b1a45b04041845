import { OPERATIONS, type Operations } from './operations.gen.js';

export type OperationName = keyof Operations;

type Data<Name extends OperationName> = Operations[Name]['data'];
type Given<T> = { [Member in keyof T as [T[Member]] extends [undefined] ? never : Member]: T[Member] };

/** The input of an operation: those of `path`, `query`, `headers` and `body` that it has. */
export type Input<Name extends OperationName> = Given<Omit<Data<Name>, 'url'>>;

/** The body of its success; void where there is none. */
export type Success<Name extends OperationName> = Operations[Name]['responses'][keyof Operations[Name]['responses']];

type Members = Readonly<Record<string, string | undefined>>;

/** The input at run time. */
interface Parts {
  readonly path?: Members;
  readonly query?: Members;
  readonly headers?: Members;
  readonly body?: unknown;
}

/** The request of an operation, but for the access token. @throws TypeError when a part of its path is missing */
export function requestOf(
  base: URL,
  name: OperationName,
  { path = {}, query = {}, headers = {}, body }: Parts,
): { url: URL; method: string; headers: Headers; body?: string } {
  const [method, template] = OPERATIONS[name];
  const filled = template.replaceAll(/\{(\w+)\}/g, (_, part: string) => segment(part, path[part]));
  // The relay may be served below a path.
  const url = new URL(`${base.pathname.replace(/\/$/, '')}${filled}`, base);
  for (const [key, value] of defined(query)) url.searchParams.set(key, value);
  const all = new Headers(defined(headers));
  if (body === undefined) return { url, method, headers: all };
  all.set('content-type', 'application/json');
  return { url, method, headers: all, body: JSON.stringify(body) };
}

// An empty segment, or one of dots only, would be another path.
function segment(part: string, text = ''): string {
  if (/^\.{0,2}$/.test(text)) throw new TypeError(`path.${part} is missing`);
  return encodeURIComponent(text);
}

const defined = (members: Members): [string, string][] =>
  Object.entries(members).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]]));
