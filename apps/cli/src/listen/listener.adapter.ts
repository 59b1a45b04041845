import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EVENT_TYPES, type EventType } from '@relay/events';
import type { Headers } from './arrival.js';

export interface Reply {
  readonly status: number;
  readonly retryAfter?: string;
}
/** Handles a request to the webhook of one event type; never rejects. */
export type Receive = (type: EventType, headers: Headers, body: Buffer) => Promise<Reply>;

/** An HTTP endpoint on loopback with one path for each event type, behind a random word that no web page can guess. */
export class Listener {
  readonly #word = randomBytes(12).toString('hex');

  private constructor(
    private readonly server: Server,
    private readonly receive: Receive,
  ) {
    server.on('request', (request, response) => void this.#handle(request, response));
  }

  /** @param port 0 for any free port @throws Error when the port is taken */
  static async open(port: number, receive: Receive): Promise<Listener> {
    const server = createServer();
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return new Listener(server, receive);
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  url(type: EventType): string {
    return `${this.origin}/${this.#word}/${type}`;
  }

  /** Accepts no further requests and answers the running ones. */
  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeIdleConnections();
    await closed;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const type = EVENT_TYPES.find((name) => request.url === `/${this.#word}/${name}`);
    if (type === undefined || request.method !== 'POST') {
      request.resume();
      response.writeHead(404).end();
      return;
    }
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return; // the sender ended the attempt
    }
    const { status, retryAfter } = await this.receive(type, request.headers, Buffer.concat(chunks));
    // No connection may be kept alive while it closes: closing would wait for it.
    response.setHeader('connection', this.server.listening ? 'keep-alive' : 'close');
    if (retryAfter !== undefined) response.setHeader('retry-after', retryAfter);
    response.writeHead(status).end();
  }
}
