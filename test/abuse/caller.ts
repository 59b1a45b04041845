import { Agent, request, type IncomingHttpHeaders } from 'node:http';

export interface Reply {
  /** 0 when the connection ended without an answer. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

type Headers = Readonly<Record<string, string>>;

/** Somebody who asks fast and a lot: past fetch, which sends no body with GET, and without a look at the contract. */
export class Caller {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });

  constructor(
    private readonly url: string,
    private readonly headers: Headers = {},
  ) {}

  /** @param body what is not text goes as JSON */
  send(method: string, path: string, body?: unknown, more: Headers = {}): Promise<Reply> {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const headers = {
      ...(text !== undefined && {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(text)),
      }),
      ...this.headers,
      ...more,
    };
    return new Promise((resolve) => {
      const lost = (): void => resolve({ status: 0, headers: {}, text: '' });
      const outgoing = request(`${this.url}${path}`, { method, headers, agent: this.#agent }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', lost);
        answer.on('end', () => {
          const { statusCode: status = 0, headers: told } = answer;
          resolve({ status, headers: told, text: Buffer.concat(chunks).toString() });
        });
      });
      outgoing.setTimeout(60_000, () => outgoing.destroy());
      outgoing.on('error', lost).end(text);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Asks `count` times, `atOnce` at once; returns the answers in the order of the questions. */
export async function flood(
  count: number,
  atOnce: number,
  ask: (n: number) => Promise<Reply>,
): Promise<readonly Reply[]> {
  const replies: Reply[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) replies[n] = await ask(n);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return replies;
}

/** How many were answered with one of these. */
export const answered = (replies: readonly Reply[], ...wanted: number[]): number =>
  replies.filter(({ status }) => wanted.includes(status)).length;

/** Such as `200 × 3, 429 × 7`. */
export function statuses(replies: readonly Pick<Reply, 'status'>[]): string {
  const counts = new Map<number, number>();
  for (const { status } of replies) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [...counts].map(([status, count]) => `${status} × ${count}`).join(', ');
}
