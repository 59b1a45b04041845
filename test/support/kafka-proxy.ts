import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** Requests by their api key. */
export const PRODUCE = 0;
export const FETCH = 1;
export const HEARTBEAT = 12;

interface Pipe {
  readonly client: Socket;
  readonly broker: Socket;
}

/**
 * A TCP proxy before a broker that understands so much of the Kafka protocol (length, api key, correlation id) that it can
 * lose the answer to a produce request (the broker has stored the records, the client sees its connection end), and leave
 * requests of a kind without an answer.
 */
export class KafkaProxy {
  readonly #pipes = new Set<Pipe>();
  readonly #server: Server;
  #port = 0;
  #swallowing = 0;
  #frozen = false;
  #unanswered: readonly number[] = [];
  /** Answers lost so far. */
  swallowed = 0;
  /** Connections taken so far. */
  accepted = 0;

  constructor(private readonly broker: { host: string; port: number }) {
    this.#server = createServer((client) => this.#accept(client));
  }

  /** Connections that are open. */
  get connected(): number {
    return this.#pipes.size;
  }

  get port(): number {
    return this.#port;
  }

  async open(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    const address = this.#server.address();
    if (typeof address === 'object' && address !== null) this.#port = address.port;
  }

  /** Ends every connection and takes no more until `open`. */
  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const pipe of this.#pipes) end(pipe);
    await closed;
  }

  /** Loses the answers to that many of the next produce requests. */
  swallowNext(count = 1): void {
    this.#swallowing += count;
  }

  /** Swallows every request of these kinds, without ending a connection; of no kind any more without any. */
  leaveUnanswered(...apiKeys: readonly number[]): void {
    this.#unanswered = apiKeys;
  }

  /** Passes nothing on, without ending a connection, like a broker that hangs. */
  freeze(isFrozen: boolean): void {
    this.#frozen = isFrozen;
    for (const { client, broker } of this.#pipes) {
      if (isFrozen) client.pause();
      else client.resume();
      if (isFrozen) broker.pause();
      else broker.resume();
    }
  }

  #accept(client: Socket): void {
    const pipe = { client, broker: connect(this.broker) };
    this.#pipes.add(pipe);
    this.accepted += 1;
    const doomed = new Set<number>();
    const requests = new Frames((frame) => {
      const apiKey = frame.readInt16BE(4);
      if (this.#unanswered.includes(apiKey)) return;
      if (apiKey === PRODUCE && this.#swallowing > 0) {
        this.#swallowing -= 1;
        doomed.add(frame.readInt32BE(8));
      }
      pipe.broker.write(frame);
    });
    const answers = new Frames((frame) => {
      if (doomed.has(frame.readInt32BE(4))) {
        this.swallowed += 1;
        end(pipe);
      } else client.write(frame);
    });
    client.on('data', (chunk: Buffer) => requests.add(chunk));
    pipe.broker.on('data', (chunk: Buffer) => answers.add(chunk));
    for (const socket of [client, pipe.broker]) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        end(pipe);
        this.#pipes.delete(pipe);
      });
      if (this.#frozen) socket.pause();
    }
  }
}

function end({ client, broker }: Pipe): void {
  client.destroy();
  broker.destroy();
}

/** Cuts a stream of bytes into frames of the Kafka protocol, each with its length before it. */
class Frames {
  #rest: Buffer = Buffer.alloc(0);

  constructor(private readonly onFrame: (frame: Buffer) => void) {}

  add(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= 4) {
      const length = 4 + this.#rest.readInt32BE(0);
      if (this.#rest.length < length) return;
      const frame = this.#rest.subarray(0, length);
      this.#rest = this.#rest.subarray(length);
      this.onFrame(frame);
    }
  }
}
