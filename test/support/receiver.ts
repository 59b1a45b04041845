import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface Received {
  /** Milliseconds of `performance.now()` when its last byte had come. */
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Status of the answer; 0 for no answer at all. */
  readonly status: number;
  /** When the answer was written to a connection that was still there; undefined before, or when it was not. */
  answeredAt?: number;
  /** When answer or connection ended. */
  endedAt?: number;
}

/** The answer to one request; `hang` never answers, `reset` ends the connection instead. */
export type Answer =
  | {
      readonly status: number;
      readonly headers?: Record<string, string>;
      readonly body?: string;
      readonly delayMs?: number;
    }
  | 'hang'
  | 'reset';

/** Decides by the request itself, whenever and however often it comes. */
export type Decide = (headers: IncomingHttpHeaders) => Answer;

const OK: Answer = { status: 204 };

/** Partners' endpoints: a real HTTP server that keeps every request and answers each path as the spec sets, 204 by default. */
export class Receiver {
  readonly #servers: Server[] = [];
  readonly #received = new Map<string, Received[]>();
  readonly #plans = new Map<string, Answer[]>();
  readonly #deciders = new Map<string, Decide>();

  private constructor() {}

  static async open(): Promise<Receiver> {
    const receiver = new Receiver();
    await receiver.anotherOrigin();
    return receiver;
  }

  url(path: string): string {
    const [first] = this.#servers;
    if (first === undefined) throw new Error('the receiver is not open');
    return urlOf(first, path);
  }

  /** The same paths under another port: webhooks of one origin share slots, and a breaker for when it is away. */
  async anotherOrigin(): Promise<(path: string) => string> {
    const server = createServer({ keepAlive: true }, (request, response) => void this.#receive(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    this.#servers.push(server);
    return (path) => urlOf(server, path);
  }

  /** The requests of a path are answered so, in order; the last answer stays. */
  plan(path: string, ...answers: Answer[]): void {
    this.#plans.set(path, answers);
  }

  /** The requests of a path are answered as `decide` says. */
  decide(path: string, decide: Decide): void {
    this.#deciders.set(path, decide);
  }

  /** The requests of a path. */
  at(path: string): readonly Received[] {
    return this.#received.get(path) ?? [];
  }

  /** The ids of the envelopes a path has received, repeats included. */
  ids(path: string): string[] {
    return this.at(path).map(({ headers }) => String(headers['webhook-id']));
  }

  /** The ids of the envelopes that a path answered with 2xx, repeats included: the delivered ones. */
  delivered(path: string): string[] {
    return this.at(path)
      .filter(({ status }) => status >= 200 && status < 300)
      .map(({ headers }) => String(headers['webhook-id']));
  }

  async close(): Promise<void> {
    const closed = this.#servers.map((server) => once(server, 'close'));
    for (const server of this.#servers) {
      server.close();
      server.closeAllConnections();
    }
    await Promise.all(closed);
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return; // the sender was killed in the middle of it
    }
    const answer = this.#deciders.get(path)?.(request.headers) ?? this.#next(path);
    const entry: Received = {
      at: performance.now(),
      method: request.method ?? '',
      path,
      headers: request.headers,
      body: Buffer.concat(chunks),
      status: typeof answer === 'string' ? 0 : answer.status,
    };
    const known = this.#received.get(path);
    if (known === undefined) this.#received.set(path, [entry]);
    else known.push(entry);
    response.once('finish', () => (entry.answeredAt = performance.now()));
    response.once('close', () => (entry.endedAt = performance.now()));
    if (answer === 'hang') return;
    if (answer === 'reset') {
      request.socket.destroy();
      return;
    }
    if (answer.delayMs !== undefined) await delay(answer.delayMs);
    response.writeHead(answer.status, answer.headers).end(answer.body);
  }

  #next(path: string): Answer {
    const plan = this.#plans.get(path) ?? [];
    return (plan.length > 1 ? plan.shift() : plan[0]) ?? OK;
  }
}

const urlOf = (server: Server, path: string): string =>
  `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
