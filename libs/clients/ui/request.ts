/** Method and path template of an operation, as the generated tables have them. */
export type Route = readonly [method: string, path: string];

type Value = string | number | boolean | undefined;

/** The input of an operation at run time. */
interface Parts {
  readonly path?: Readonly<Record<string, Value>>;
  readonly query?: Readonly<Record<string, Value>>;
  readonly headers?: Readonly<Record<string, Value>>;
  readonly body?: unknown;
}

interface RequestLine {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** A part of a path is missing: what the address names is nothing that the API could have. */
export class NoSuchPath extends TypeError {
  override readonly name = 'NoSuchPath';
}

/** The request of an operation without its credential. @throws NoSuchPath when a part of its path is missing */
export function requestOf(
  base: URL,
  [method, template]: Route,
  { path = {}, query, headers, body }: Parts,
): RequestLine {
  const filled = template.replaceAll(/\{(\w+)\}/g, (_, part: string) => segment(part, path[part]));
  const url = new URL(`${base.pathname.replace(/\/$/, '')}${filled}`, base);
  for (const [key, value] of given(query)) url.searchParams.set(key, value);
  const type: [string, string][] = body === undefined ? [] : [['content-type', 'application/json']];
  const all = Object.fromEntries([...type, ...given(headers)]);
  return { method, url, headers: all, body: body === undefined ? undefined : JSON.stringify(body) };
}

// An empty segment, or one of dots only, changes the path.
function segment(part: string, value: Value): string {
  const text = String(value ?? '');
  if (/^\.{0,2}$/.test(text)) throw new NoSuchPath(`path.${part} is missing`);
  return encodeURIComponent(text);
}

const given = (members: Readonly<Record<string, Value>> = {}): [string, string][] =>
  Object.entries(members).flatMap(([key, value]) =>
    value === undefined || value === '' ? [] : [[key, String(value)]],
  );

/**
 * The request as a line for a POSIX shell.
 * @param credential options of curl for it, such as `-H "Authorization: Bearer $TOKEN"`: the secret itself is never printed
 */
export function curlOf({ method, url, headers, body }: RequestLine, credential: string): string {
  const verb = method === 'GET' ? '' : ` -X ${method}`;
  const names = Object.entries(headers).map(([name, value]) => ` -H ${quoted(`${name}: ${value}`)}`);
  const data = body === undefined ? '' : ` -d ${quoted(body)}`;
  return `curl -sS${verb} ${quoted(url.href)} ${credential}${names.join('')}${data}`;
}

/** A word of a POSIX shell that stands for the text itself. */
export const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** Fields of a problem document (RFC 9457) that the pages read. */
export interface ProblemText {
  readonly type?: string;
  readonly title?: string;
  readonly detail?: string;
  readonly requestId?: string;
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
  /** Commands that an operator runs before the request can succeed. */
  readonly commands?: readonly string[];
}

/** An answer that is no success. `status` is 0 when nothing answered. */
export class Refused extends Error {
  override readonly name = 'Refused';

  constructor(
    readonly status: number,
    readonly problem: ProblemText,
    /** Seconds until the next try; undefined if the answer names none. */
    readonly retryAfterS: number | undefined,
  ) {
    super(problem.detail ?? problem.title ?? `The relay answered ${status}`);
  }

  /** For example `not-found`; undefined when something else than the relay answered. */
  get code(): string | undefined {
    return this.problem.type?.split('#')[1];
  }
}

/** Returns the fault and its remedy, in sentences. @param tellsWait whether they say when to try again */
export function wordsOf(error: unknown, tellsWait = true): string {
  if (error instanceof NoSuchPath) return 'There is no such page.';
  if (!(error instanceof Refused)) return 'The page met a fault of its own. Load it again.';
  if (error.status === 0) return 'The relay does not answer. Check the network, then try again.';
  const members = (error.problem.errors ?? []).map(({ pointer, detail }) => `${pointer.slice(1)}: ${detail}`);
  const wait = error.retryAfterS === undefined || !tellsWait ? '' : ` Try again in ${error.retryAfterS} s.`;
  return `${[error.message, ...members].join(' ')}${wait}`;
}

const RETRY_S = 5;
/** A timer of a browser holds 24 days; one of more fires at once, again and again. */
const LONGEST_S = 3_600;
/** Statuses of faults that pass without a fix: no answer, too many requests, something that is away. */
const PASSING = new Set([0, 429, 502, 503, 504]);

/** Milliseconds after which to ask again what met this error; undefined if that changes nothing. */
export function waitOf(error: unknown): number | undefined {
  if (!(error instanceof Refused) || !PASSING.has(error.status)) return undefined;
  return Math.min(LONGEST_S, Math.max(1, error.retryAfterS ?? RETRY_S)) * 1_000;
}
