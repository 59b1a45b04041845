import { request, type IncomingMessage } from 'node:http';
import type { Client } from '../support/client.js';
import type { Arena } from './arena.js';

interface Asked {
  readonly type?: string;
  /** The `id` of an event of an earlier stream. */
  readonly place?: string;
  /** Else it is open and nothing of it is read. */
  readonly isRead?: boolean;
}

/** A stream of `GET /listen` of somebody without the manners of our client: it never comes back by itself. */
export class Listening {
  /** Envelopes that came, by id. */
  readonly heard: string[] = [];
  /** The last place that was told. */
  place = '';
  /** Why the relay ended it, if it said so. */
  reason = '';
  isOver = false;
  #rest = '';

  private constructor(
    /** 0 when the connection ended without an answer. */
    readonly status: number,
    readonly retryAfter: string | undefined,
    private readonly answer: IncomingMessage | undefined,
    isRead: boolean,
  ) {
    const over = (): void => void (this.isOver = true);
    answer?.on('error', over).on('close', over);
    if (isRead) this.read();
  }

  static async open({ ingress }: Arena, client: Client, asked: Asked = {}): Promise<Listening> {
    return Listening.by(ingress.url, await client.token(), asked);
  }

  static by(url: string, token: string, { type, place, isRead = true }: Asked): Promise<Listening> {
    const headers = { authorization: `Bearer ${token}`, ...(place !== undefined && { 'last-event-id': place }) };
    return new Promise((resolve) => {
      const lost = (): void => resolve(new Listening(0, undefined, undefined, false));
      const path = type === undefined ? '/listen' : `/listen?type=${type}`;
      const outgoing = request(`${url}${path}`, { headers, agent: false }, (answer) => {
        const { statusCode = 0, headers: told } = answer;
        resolve(new Listening(statusCode, told['retry-after'], answer, isRead));
      });
      outgoing.on('error', lost).end();
    });
  }

  /** Reads from now on. */
  read(): void {
    this.answer?.setEncoding('utf8').on('data', (text: string) => this.#hear(text));
  }

  leave(): void {
    this.answer?.destroy();
  }

  #hear(text: string): void {
    const events = (this.#rest + text).split('\n\n');
    this.#rest = events.pop() ?? '';
    for (const event of events) {
      this.place = /^id: (.*)$/m.exec(event)?.[1] ?? this.place;
      const delivery = /^event: delivery\ndata: \{"id":"([\w-]+)"/m.exec(event)?.[1];
      if (delivery !== undefined) this.heard.push(delivery);
      this.reason = /^event: end\ndata: \{"reason":"(\w+)"/m.exec(event)?.[1] ?? this.reason;
    }
  }
}

/** A figure of the streams that the ingress tells. */
export async function streamFigure({ ingress }: Arena, name: string): Promise<number> {
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(await ingress.metrics())?.[1]);
}
