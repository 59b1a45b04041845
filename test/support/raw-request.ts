import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';

export interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  /** What is neither undefined nor text goes as JSON. */
  readonly body?: unknown;
}

/** Sends a request past fetch, which sends no body with GET; the answer is as it came. */
export async function rawRequest(
  method: string,
  url: string,
  { headers = {}, body }: Sent,
): Promise<{ status: number; rawHeaders: readonly string[]; bytes: Buffer }> {
  const isJson = body !== undefined && typeof body !== 'string';
  const text = isJson ? JSON.stringify(body) : (body ?? '');
  const outgoing = request(url, {
    method,
    headers: {
      ...(isJson && { 'content-type': 'application/json' }),
      ...(text !== '' && { 'content-length': Buffer.byteLength(text) }),
      ...headers,
    },
    agent: false,
    signal: AbortSignal.timeout(15_000),
  });
  outgoing.end(text);
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage];
  const bytes = Buffer.concat((await answer.toArray()) as Buffer[]);
  return { status: answer.statusCode ?? 0, rawHeaders: answer.rawHeaders, bytes };
}
