import type { Socket } from 'node:net';
import type { ConnectTimes, TimedConnector } from '@relay/egress';
import type { buildConnector } from 'undici';
import { AnswerReader, type AnswerHead, type AnswerLimits } from './answer-reader.js';

/** The steps of one request on a connection, by `performance.now()`. */
export interface AskTimes extends ConnectTimes {
  /** It got the connection, which may have to be opened. */
  readonly beganAt: number;
  readonly isReused: boolean;
  /** The connection was opened, with TLS. */
  openedAt?: number;
  /** Set if the answer came in several pieces. */
  firstByteAt?: number;
}

/** The exchange that waits for the answer on a connection. */
export interface Asker {
  /** @param body the beginning of the body, which grows until the answer has ended; undefined if none is kept */
  answered(head: AnswerHead, body: { readonly kept: Buffer } | undefined): void;
  /** The answer was read to its end, or to the limit of what is read. */
  ended(isReusable: boolean): void;
  /** @param isAnswered whether a byte of an answer came before */
  broke(fault: unknown, isAnswered: boolean): void;
}

export interface ConnectionLimits extends AnswerLimits {
  /** Milliseconds that an unused connection is kept, unless the endpoint's `Keep-Alive` names a time. */
  readonly keepAliveMs: number;
}

/** Subtracted from the time of a `Keep-Alive`, in ms: the endpoint counts from the moment it sent its answer. */
const KEEP_ALIVE_MARGIN_MS = 2_000;
const MAX_KEEP_ALIVE_MS = 60_000;

/** One HTTP/1.1 connection with one request at a time. */
export class HttpConnection {
  /** Answers of its socket, so 0 means that the socket is new. */
  answers = 0;
  /** Whether it ended; it takes no request any more. */
  isOver = false;
  /** Milliseconds that it may stay unused from now on. */
  keepAliveMs: number;
  #socket: Socket | undefined;
  #asker: Asker | undefined;
  #times: AskTimes | undefined;
  #reader: AnswerReader | undefined;
  #isAnswered = false;

  /** @param lost called when the connection ends while no exchange waits for an answer */
  constructor(
    private readonly connect: TimedConnector,
    private readonly target: buildConnector.Options,
    private readonly limits: ConnectionLimits,
    private readonly lost: () => void,
  ) {
    this.keepAliveMs = limits.keepAliveMs;
  }

  /** Sends a request, when it is connected. The bytes must stay unchanged until the answer. Notes the steps in `times`. */
  ask(request: Buffer, asker: Asker, times: AskTimes): void {
    this.#asker = asker;
    this.#times = times;
    this.#reader = new AnswerReader(this.limits);
    this.#isAnswered = false;
    if (this.#socket !== undefined) this.#socket.write(request);
    else
      this.connect(
        this.target,
        (...[fault, socket]) => {
          if (fault !== null) this.#end(fault);
          else if (this.isOver) socket.destroy();
          else this.#opened(socket, request, times);
        },
        times,
      );
  }

  destroy(): void {
    this.isOver = true;
    this.#asker = undefined;
    this.#socket?.destroy();
  }

  #opened(socket: Socket, request: Buffer, times: AskTimes): void {
    this.#socket = socket;
    times.openedAt = performance.now();
    socket
      .on('data', (bytes: Buffer) => this.#read(bytes))
      .on('error', (fault) => this.#end(fault))
      .on('end', () => this.#end(undefined))
      .on('close', () => this.#end(undefined));
    socket.write(request);
  }

  #read(bytes: Buffer): void {
    const [asker, reader] = [this.#asker, this.#reader];
    // No request asked for these bytes. If the connection stayed open, they would be taken for the answer to the next request.
    if (asker === undefined || reader === undefined) return this.#end(undefined);
    this.#isAnswered = true;
    const isNew = reader.head === undefined;
    let progress: ReturnType<AnswerReader['read']> | undefined;
    let fault: unknown;
    try {
      progress = reader.read(bytes);
    } catch (thrown) {
      fault = thrown;
    }
    const { head } = reader;
    // An answer in one piece has no time of its first byte, which is that of its end.
    if (progress === 'more' && this.#times !== undefined) this.#times.firstByteAt ??= performance.now();
    // The status counts whatever follows it, even in the same piece.
    if (isNew && head !== undefined) asker.answered(head, this.limits.keptBytes === 0 ? undefined : reader);
    if (fault !== undefined) this.#end(fault);
    else if (head !== undefined && progress !== 'more') this.#ended(asker, head, progress === 'end' && !reader.hasMore);
  }

  #ended(asker: Asker, { closes, keepAliveMs }: AnswerHead, isWhole: boolean): void {
    this.#asker = undefined;
    this.answers += 1;
    if (keepAliveMs !== undefined) this.keepAliveMs = Math.min(keepAliveMs - KEEP_ALIVE_MARGIN_MS, MAX_KEEP_ALIVE_MS);
    // An answer that came before the whole request was written says that the endpoint does not read the rest.
    const isWritten = this.#socket?.writableLength === 0;
    asker.ended(isWhole && !closes && isWritten && this.keepAliveMs > 0);
  }

  #end(fault: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    const asker = this.#asker;
    this.#asker = undefined;
    this.#socket?.destroy();
    if (asker === undefined) this.lost();
    else if (fault === undefined && this.#reader?.head?.endsAtClose === true) asker.ended(false);
    else asker.broke(fault ?? closedByEndpoint(this.#isAnswered), this.#isAnswered);
  }
}

const closedByEndpoint = (isAnswered: boolean): Error =>
  Object.assign(new Error(`the endpoint closed the connection ${isAnswered ? 'within' : 'before'} its answer`), {
    code: 'ECONNRESET',
  });
