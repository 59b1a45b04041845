import { OPERATIONS, type Operations } from './operations.gen.js';
import { OperationsRefused } from './operations-refused.js';

/** The time within which the app answers every request, and something for the way. */
const TIMEOUT_MS = 15_000;

type OperationName = keyof Operations;
type Given<T> = { [Member in keyof T as [T[Member]] extends [undefined] ? never : Member]: T[Member] };
type Input<Name extends OperationName> = Given<Omit<Operations[Name]['data'], 'url'>>;
type Success<Name extends OperationName> = Operations[Name]['responses'][keyof Operations[Name]['responses']];

/** The input at run time. */
interface Parts {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
}

/** Where the operations app is, and which operator asks. */
export interface OperationsLogin {
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

/** The API of the operations app, for an operator. */
export class OperationsClient {
  constructor(private readonly login: OperationsLogin) {}

  /** @throws OperationsRefused, or Error when nothing answers: a change may have been made all the same */
  async call<Name extends OperationName>(name: Name, input: Input<Name>): Promise<Success<Name>> {
    const response = await this.#send(name, input);
    const text = await response.text();
    if (!response.ok) throw new OperationsRefused(response.status, detailOf(text));
    return (text === '' ? undefined : JSON.parse(text)) as Success<Name>;
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
      throw new Error(`The operations app does not answer at ${url}: start it, or correct OPERATIONS_URL`, { cause });
    }
  }
}

/** The detail of a problem; the begin of the text that something else answered. */
function detailOf(text: string): string {
  try {
    const { detail } = JSON.parse(text) as { detail?: unknown };
    if (typeof detail === 'string') return detail;
  } catch {
    // Said above.
  }
  return text.slice(0, 200);
}
