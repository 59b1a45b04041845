import { KEPT_BYTES } from './endpoint-answer.js';
import type { Connector } from './http-connection.adapter.js';
import { HttpConnections } from './http-connections.adapter.js';
import { HttpExchange } from './http-exchange.adapter.js';
import type { AttemptResult } from './outcome.js';
import type { DeliveryRequest } from './request.js';
import { Sender } from './sender.port.js';

export interface HttpSenderSettings {
  /** Milliseconds that an attempt may take, including the wait for a connection; default 15,000. */
  readonly timeoutMs?: number;
  /** Maximum of connections of one partner to one origin; default 64. */
  readonly connectionsPerOrigin?: number;
  /** Milliseconds that an unused connection is kept; default 10,000. */
  readonly keepAliveMs?: number;
  /** Whether results have the head of an answer and the beginning of its body; default false. */
  readonly keepsAnswers?: boolean;
}

/**
 * Sends over HTTP/1.1 through its connector, which must be the guarded one of `@relay/egress`. A redirect is an answer like any
 * other, bodies are never decompressed, and proxy variables of the environment are ignored.
 */
export class HttpSender extends Sender {
  readonly #connections: HttpConnections;
  readonly #timeoutMs: number;
  #running = 0;
  #whenIdle: (() => void) | undefined;
  #closed: Promise<void> | undefined;

  constructor(connect: Connector, settings: HttpSenderSettings = {}) {
    super();
    this.#timeoutMs = settings.timeoutMs ?? 15_000;
    this.#connections = new HttpConnections(connect, {
      perOrigin: settings.connectionsPerOrigin ?? 64,
      maxIdle: 1_024,
      keepAliveMs: settings.keepAliveMs ?? 10_000,
      headBytes: 16_384,
      bodyBytes: 16_384,
      interimAnswers: 16,
      keptBytes: settings.keepsAnswers === true ? KEPT_BYTES : 0,
    });
  }

  send(request: DeliveryRequest, signal?: AbortSignal): Promise<AttemptResult> {
    if (this.#closed !== undefined)
      return Promise.resolve({ kind: 'failed', error: 'unknown', detail: 'the sender is closed', durationMs: 0 });
    this.#running += 1;
    return new Promise((resolve) => {
      const ended = (result: AttemptResult): void => {
        resolve(result);
        this.#running -= 1;
        if (this.#running === 0) this.#whenIdle?.();
      };
      new HttpExchange(this.#connections, request, this.#timeoutMs, signal, ended).begin();
    });
  }

  close(): Promise<void> {
    this.#closed ??= this.#shut();
    return this.#closed;
  }

  async #shut(): Promise<void> {
    if (this.#running > 0) await new Promise<void>((resolve) => (this.#whenIdle = resolve));
    this.#connections.close();
  }
}
