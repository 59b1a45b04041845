import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Headers } from './arrival.js';

/** Shorter than an attempt of the relay, which then gets 504 instead of a timeout. */
const TIMEOUT_MS = 14_000;
/** Headers of one connection (RFC 9110 section 7.6.1), or set again for the next one. */
const OF_THE_CONNECTION = new Set([
  'connection',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

export interface Forwarded {
  readonly status: number;
  readonly retryAfter?: string;
  /** Why there was no answer; `status` is then a gateway's (502, 504). */
  readonly fault?: string;
}

/** Forwards a delivery with its bytes and headers. Never rejects; drops the body of the answer. */
export async function forward(target: URL, headers: Headers, body: Buffer): Promise<Forwarded> {
  const own = Object.entries(headers).filter(([name]) => !OF_THE_CONNECTION.has(name));
  try {
    const answer = await send(target, Object.fromEntries(own) as Record<string, string>, body);
    const retryAfter = answer.headers['retry-after'];
    return { status: answer.statusCode ?? 502, ...(retryAfter === undefined ? {} : { retryAfter }) };
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError')
      return { status: 504, fault: `${target.origin} did not answer within ${TIMEOUT_MS / 1_000} s` };
    return { status: 502, fault: `${target.origin} cannot be reached (${reasonOf(error)})` };
  }
}

function send(target: URL, headers: Record<string, string>, body: Buffer): Promise<IncomingMessage> {
  const request = target.protocol === 'https:' ? httpsRequest : httpRequest;
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  return new Promise((resolve, reject) => {
    const failed = (error: Error): void => reject(signal.aborted ? (signal.reason as Error) : error);
    request(target, { method: 'POST', headers, signal }, (answer) => {
      answer.on('error', () => undefined).resume();
      resolve(answer);
    })
      .on('error', failed)
      .end(body);
  });
}

/** For a host with several addresses Node reports one error for each and no message of its own. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.message || ('code' in error ? String(error.code) : error.name);
}
