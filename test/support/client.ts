import { randomUUID } from 'node:crypto';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parsed; undefined when the answer is not JSON. */
  readonly json: Json;
}
export type Json = { readonly [member: string]: Json } & readonly Json[];

export interface Registration {
  readonly eventType: string;
  readonly endPointUrl: string;
  readonly apiKey?: string;
  readonly jwt?: string;
  readonly userName?: string;
  readonly password?: string;
  readonly endPointName?: string;
  readonly endPointDesc?: string;
}

/**
 * Sends a request as it is; a body that is neither text nor bytes goes as JSON.
 * @throws Error when a relay answers otherwise than its own /openapi.json says
 */
export async function call(
  method: string,
  url: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: unknown } = {},
): Promise<Answer> {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array || body === undefined;
  const { origin, pathname } = new URL(url);
  // Not at the top: who only names what a client would do, such as the list of faults, needs no validator.
  const { contractOf, forgetContract } = await import('./contract.js');
  const contract = await contractOf(origin, headers);
  const response = await fetch(url, {
    method,
    headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: isRaw ? (body as string) : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  const answer = {
    status: response.status,
    headers: response.headers,
    text,
    json: (isJson && text !== '' ? JSON.parse(text) : undefined) as Json,
  };
  if (contract.fault(method, pathname, answer) === undefined) return answer;
  forgetContract(origin);
  const fault = (await contractOf(origin, headers)).fault(method, pathname, answer);
  if (fault !== undefined) throw new Error(fault);
  return answer;
}

/** A client of the ingress: a partner or a source, whichever its id and secret are of. */
export class Client {
  #token: Promise<string> | undefined;

  constructor(
    private readonly url: string,
    readonly clientId: string,
    readonly clientSecret: string,
  ) {}

  token(): Promise<string> {
    this.#token ??= this.#fetchToken();
    return this.#token;
  }

  /** The next request fetches a new token. */
  forgetToken(): void {
    this.#token = undefined;
  }

  async request(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const authorization = `Bearer ${await this.token()}`;
    return call(method, `${this.url}${path}`, { headers: { authorization, ...headers }, body });
  }

  /** Registers a webhook and returns its id. @throws Error unless it is answered 201 */
  async register(registration: Registration): Promise<string> {
    const answer = await this.request('POST', '/webhooks', registration);
    if (answer.status !== 201) throw new Error(`register: ${answer.status} ${answer.text}`);
    return String(answer.json['id']);
  }

  /** Posts an envelope: its bytes when they are given as text. */
  async post(envelope: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.request('POST', '/deliveries', envelope, headers);
  }

  async #fetchToken(): Promise<string> {
    const basic = Buffer.from(`${this.clientId}:${this.clientSecret}`).toString('base64');
    const answer = await call('POST', `${this.url}/auth/token`, { headers: { authorization: `Basic ${basic}` } });
    if (answer.status !== 200) throw new Error(`token: ${answer.status} ${answer.text}`);
    return String(answer.json['access_token']);
  }
}

/** An envelope with an id of its own; what the payload needs is there unless given. */
export function anEnvelope({
  id = randomUUID(),
  type = 'task.created',
  payload = {},
}: { id?: string; type?: string; payload?: object } = {}): { id: string; type: string; payload: object } {
  const task = { id: randomUUID(), userId: randomUUID(), financialPlanId: randomUUID() };
  return { id, type, payload: { ...(type.startsWith('task.') && task), ...payload } };
}
