import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';

/** As long as an attempt of the relay lasts by default. */
const TIMEOUT_MS = 15_000;
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

/** The status of the answer, or why there was none. */
export type Forwarded = { readonly status: number } | { readonly unforwarded: string };

/** Forwards a delivery with its bytes and headers. Never rejects; drops the body of the answer. */
export async function forward(
  target: URL,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
): Promise<Forwarded> {
  const own = Object.entries(headers).filter(([name]) => !OF_THE_CONNECTION.has(name));
  try {
    const { statusCode = 0 } = await send(target, Object.fromEntries(own), body);
    return { status: statusCode };
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError')
      return { unforwarded: `${target.origin} did not answer within ${TIMEOUT_MS / 1_000} s` };
    return { unforwarded: `${target.origin} cannot be reached (${reasonOf(error)})` };
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
