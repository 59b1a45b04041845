/** Method and path template of an operation, as the generated tables have them. */
export type Route = readonly [method: string, path: string];

type Value = string | number | boolean | undefined;

/** The input of an operation at run time. */
export interface Parts {
  readonly path?: Readonly<Record<string, Value>>;
  readonly query?: Readonly<Record<string, Value>>;
  readonly headers?: Readonly<Record<string, Value>>;
  readonly body?: unknown;
}

export interface RequestLine {
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

// An empty segment, or one of dots only, would be another path.
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
