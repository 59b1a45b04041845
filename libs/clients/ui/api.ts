import { ask, type Question, type Saying } from './ask.js';
import { curlOf, Refused, requestOf, type ProblemText, type Route } from './request.js';
import { learnClock } from './times.js';

/** Timeout of a request. It is long because the response to a test delivery has to wait for the server of the partner. */
const TIMEOUT_MS = 45_000;

type Given<T> = { [Member in keyof T as [T[Member]] extends [undefined] ? never : Member]: T[Member] };

/** The shape of one operation in the generated type `Operations` of a client. */
interface Typed {
  readonly data: object;
  readonly responses: object;
}

/** The input of an operation. It has `path`, `query`, `headers` and `body` if the operation has them. */
export type InputOf<All, Name extends keyof All> = All[Name] extends { data: infer Data }
  ? Given<Omit<Data, 'url'>>
  : never;

/** The body of a successful response. */
export type AnswerOf<All, Name extends keyof All> = All[Name] extends { responses: infer Answers }
  ? Answers[keyof Answers]
  : never;

interface ApiSettings<All> {
  /** Base URL of the API. It has the same origin as the pages. */
  readonly base: URL;
  readonly routes: { readonly [Name in keyof All]: Route };
  /** Returns the headers that authenticate the user in every call. */
  readonly credential: () => Readonly<Record<string, string>>;
  /** Options of curl for the credential, with a shell variable in place of the secret. */
  readonly curlCredential: string;
  /** Called when the API no longer accepts the credential. */
  readonly ended: () => void;
}

/** A change that is made by one call of the API. */
interface Change<Body> extends Omit<Question, 'curl' | 'run'> {
  /** Called with the body of the response. */
  readonly done: (answer: Body) => void;
  /** Message after success. */
  readonly said: string | ((answer: Body) => string | Saying);
}

interface Answered<Body> {
  readonly headers: Headers;
  readonly body: Body;
  /** The text of the body before it was parsed. */
  readonly text: string;
}

/** Calls the operations of an API, which are typed by the generated types. */
export class Api<All extends { [Name in keyof All]: Typed }> {
  constructor(private readonly settings: ApiSettings<All>) {}

  /** Calls an operation and returns the body of the response. @throws Refused */
  async call<Name extends keyof All>(name: Name, input: InputOf<All, Name>): Promise<AnswerOf<All, Name>> {
    return (await this.request(name, input)).body;
  }

  /** Calls an operation and also returns the headers and the text of the response. @throws Refused */
  async request<Name extends keyof All>(name: Name, input: InputOf<All, Name>): Promise<Answered<AnswerOf<All, Name>>> {
    const { base, routes, credential, ended } = this.settings;
    const { method, url, headers, body } = requestOf(base, routes[name], input);
    const all = { ...headers, ...credential() };
    const response = await send(url, { method, headers: all, ...(body === undefined ? {} : { body }) });
    learnClock(response.headers);
    const text = await response.text();
    const read = parsed(text);
    if (response.ok) return { headers: response.headers, body: read as AnswerOf<All, Name>, text };
    if (response.status === 401) ended();
    const after = Number(response.headers.get('retry-after') ?? Number.NaN);
    throw new Refused(response.status, problemIn(read), Number.isFinite(after) ? after : undefined);
  }

  /** Asks the user to confirm a change, and makes this call if the user confirms. */
  ask<Name extends keyof All>(name: Name, input: InputOf<All, Name>, change: Change<AnswerOf<All, Name>>): void {
    const { done, said, ...question } = change;
    const run = async (): Promise<string | Saying> => {
      const answer = await this.call(name, input);
      done(answer);
      return typeof said === 'string' ? said : said(answer);
    };
    ask({ ...question, curl: this.curl(name, input), run });
  }

  /** Returns a curl command that makes this call. */
  curl<Name extends keyof All>(name: Name, input: InputOf<All, Name>): string {
    const { base, routes, curlCredential } = this.settings;
    return curlOf(requestOf(base, routes[name], input), curlCredential);
  }
}

/** Returns the members that have a value, as the query of an operation. */
export const given = <Query>(
  members: Readonly<Partial<Record<keyof Query & string, string | number | undefined>>>,
): Query =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== '')) as Query;

/** Returns the cursor of the next page of a list, from its `Link` header (RFC 8288); undefined for the last page. */
export function nextCursor(headers: Headers): string | undefined {
  const next = /[?&]cursor=([^&>]+)/.exec(headers.get('link') ?? '')?.[1];
  return next === undefined ? undefined : decodeURIComponent(next);
}

async function send(url: URL, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...init, redirect: 'error', cache: 'no-store', signal: AbortSignal.timeout(TIMEOUT_MS) });
  } catch {
    throw new Refused(0, {}, undefined);
  }
}

/** Returns the value of a JSON text, or the text itself if it is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const problemIn = (body: unknown): ProblemText => (typeof body === 'object' && body !== null ? body : {});
