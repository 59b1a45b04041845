import { OPERATIONS, type Operations } from './operations.gen.js';

/** Timeout of a request: the time within which the app answers every request, plus a margin for the network. */
const TIMEOUT_MS = 15_000;
const ANOTHER = 'OPERATIONS_URL is not the address of the operations app';

type OperationName = keyof Operations;
type Given<T> = { [Member in keyof T as [T[Member]] extends [undefined] ? never : Member]: T[Member] };
/** Allows undefined for optional members. Members that are undefined are not sent. */
type Loose<T> = { [Member in keyof T]: object extends Pick<T, Member> ? T[Member] | undefined : T[Member] };
type Input<Name extends OperationName> = {
  [Part in keyof Given<Omit<Operations[Name]['data'], 'url'>>]: Loose<Operations[Name]['data'][Part]>;
};
type Success<Name extends OperationName> = Operations[Name]['responses'][keyof Operations[Name]['responses']];

interface Parts {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
}

export class OperationsRefused extends Error {
  override readonly name = 'OperationsRefused';

  /** @param message the reason that the app, or another server in its place, gave */
  constructor(
    readonly status: number,
    message: string,
    readonly problem: Problem = {},
  ) {
    super(message);
  }
}

export class OperationsClient {
  constructor(
    private readonly login: { readonly url: string; readonly clientId: string; readonly clientSecret: string },
  ) {}

  /**
   * Calls an operation and returns the body of the response.
   * @throws OperationsRefused if the app refuses the request, or Error if there is no response. In the second case the app
   *   may still have made the requested change.
   */
  async call<Name extends OperationName>(name: Name, input: Input<Name>): Promise<Success<Name>> {
    return (await this.page(name, input)).answer;
  }

  /**
   * Returns one page of a list, and the cursor of the next page if there is one.
   * @param cursor the cursor of this page
   */
  async page<Name extends OperationName>(
    name: Name,
    input: Input<Name>,
    cursor?: string,
  ): Promise<{ readonly answer: Success<Name>; readonly next: string | undefined }> {
    const { query, ...others }: Parts = input;
    const response = await this.#send(name, { ...others, query: { ...query, cursor } });
    const text = await response.text();
    if (!response.ok) {
      const problem = (read(text) ?? {}) as Problem;
      throw new OperationsRefused(response.status, this.#refusal(response, text), problem);
    }
    const [, link] = /<([^>]*)>; *rel="next"/.exec(response.headers.get('link') ?? '') ?? [];
    const next = link === undefined ? undefined : new URL(link, this.login.url).searchParams.get('cursor');
    const answer = response.status === 204 ? undefined : read(text);
    if (answer === null) throw new Error(`${this.login.url} answers, and not with JSON: ${ANOTHER}`);
    return { answer: answer as Success<Name>, next: next ?? undefined };
  }

  async all<Name extends OperationName, Item>(
    name: Name,
    input: Input<Name>,
    itemsOf: (answer: Success<Name>) => readonly Item[],
  ): Promise<Item[]> {
    const items: Item[] = [];
    let cursor: string | undefined;
    do {
      const { answer, next } = await this.page(name, input, cursor);
      items.push(...itemsOf(answer));
      cursor = next;
    } while (cursor !== undefined);
    return items;
  }

  async #send(name: OperationName, { path = {}, query = {}, body }: Parts): Promise<Response> {
    const { url, clientId, clientSecret } = this.login;
    const [method, template] = OPERATIONS[name];
    const filled = template.replaceAll(/\{(\w+)\}/g, (_, part: string) => encodeURIComponent(path[part] ?? ''));
    const asked = new URL(`${url.replace(/\/+$/, '')}${filled}`);
    for (const [key, value] of Object.entries(query))
      if (value !== undefined) asked.searchParams.set(key, String(value));
    const headers = {
      authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    try {
      return await fetch(asked, {
        method,
        headers,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
    } catch (cause) {
      throw new Error(
        `The operations app does not answer at ${url} (${reasonOf(cause)}): start it, or correct OPERATIONS_URL`,
        { cause },
      );
    }
  }

  #refusal({ status, headers }: Response, text: string): string {
    const { url, clientId } = this.login;
    const location = headers.get('location');
    if (location !== null) return `${url} leads to ${location}: ${ANOTHER}`;
    const sentence = sentenceOf(read(text));
    if (status === 404 && sentence?.startsWith('There is no such path')) return `${url} has no such path: ${ANOTHER}`;
    if (status === 401 && sentence !== undefined) return `${url} refuses the operator ${clientId}: ${sentence}`;
    return sentence ?? `The operations app answers ${status}: ${text.slice(0, 200)}`;
  }
}

interface Problem {
  readonly detail?: unknown;
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[];
  /** Commands that the operator runs before the request can succeed. */
  readonly commands?: readonly string[];
}

/** Returns null if the text is not JSON. */
function read(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** Returns the detail of a problem followed by the details of its errors; undefined if the response is not a problem. */
function sentenceOf(answer: unknown): string | undefined {
  const { detail, errors = [] } = (answer ?? {}) as Problem;
  if (typeof detail !== 'string') return undefined;
  const further = errors.filter((error) => !detail.includes(error.detail));
  return [detail, ...further.map((error) => `${error.pointer} ${error.detail}`.trim())].join(' ');
}

/**
 * Returns the reason from the cause, because `fetch` itself reports only `fetch failed`. If `fetch` tried several addresses,
 * the cause has a code but no message.
 */
function reasonOf(error: unknown): string {
  const { cause = error } = error as { readonly cause?: unknown };
  const { message, code } = cause as { readonly message?: string; readonly code?: string };
  return message || code || String(cause);
}
