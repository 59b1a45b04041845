// Callers who do nothing wrong, in a process of their own: how long they wait must not hold what the attack costs the
// process that attacks. Node runs it as it stands, so it imports nothing of the repository but types.
import { randomUUID } from 'node:crypto';
import { Agent, request, type RequestOptions } from 'node:http';
import type { Asked, Start } from './bystanders.js';

/** Each so manyth envelope comes on a connection of its own, as from somebody who just arrived. */
const FRESH_EVERY = 25;
/** How long they wait is judged by its p99; this only tells what is never answered. */
const PATIENCE_MS = 60_000;

const agent = new Agent({ keepAlive: true, maxSockets: 64 });
let asked: Asked = { times: [], accepted: [], failed: [] };

/** The other side ended an idle connection just as it was used again, which is nobody's fault (RFC 9112 section 9.3.1). */
class EndedIdle extends Error {}

function ask(url: string, options: RequestOptions, body?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent, timeout: PATIENCE_MS, ...options }, (answer) => {
      answer.on('error', reject).on('end', () => resolve(answer.statusCode ?? 0));
      answer.resume();
    });
    outgoing.on('timeout', () => outgoing.destroy(new Error('no answer')));
    outgoing.on('error', (error: NodeJS.ErrnoException) =>
      reject(outgoing.reusedSocket && error.code === 'ECONNRESET' ? new EndedIdle() : error),
    );
    outgoing.end(body);
  });
}

async function askOn(url: string, options: RequestOptions, body?: string): Promise<number> {
  try {
    return await ask(url, options, body);
  } catch (error) {
    if (!(error instanceof EndedIdle)) throw error;
    return ask(url, { ...options, agent: false }, body);
  }
}

async function timed(what: string, expected: number, sent: Promise<number>, id?: string): Promise<void> {
  const since = performance.now();
  const into = asked;
  try {
    const status = await sent;
    into.times.push(performance.now() - since);
    if (status !== expected) into.failed.push(`${what}: ${status}`);
    else if (id !== undefined) into.accepted.push(id);
  } catch (error) {
    into.failed.push(`${what}: ${String(error)}`);
  }
}

function post({ url, source }: Start, isFresh: boolean): void {
  const id = randomUUID();
  const task = { id: randomUUID(), userId: randomUUID(), financialPlanId: randomUUID() };
  const body = JSON.stringify({ id, type: 'task.created', payload: task });
  const headers = {
    authorization: `Bearer ${source}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  };
  const options = { method: 'POST', headers, ...(isFresh && { agent: false }) };
  void timed('POST /deliveries', 202, askOn(`${url}/deliveries`, options, body), id);
}

function look({ url, partner, webhookId }: Start, n: number): void {
  const path = n % 2 === 0 ? '/webhooks' : `/webhooks/${webhookId}`;
  void timed(`GET ${path}`, 200, askOn(`${url}${path}`, { headers: { authorization: `Bearer ${partner}` } }));
}

process.on('message', (message: Start | 'take') => {
  if (message === 'take') {
    process.send?.(asked);
    asked = { times: [], accepted: [], failed: [] };
    return;
  }
  let posted = 0;
  let looked = 0;
  setInterval(() => post(message, (posted += 1) % FRESH_EVERY === 0), 1_000 / message.postsPerSecond);
  setInterval(() => look(message, (looked += 1)), 1_000 / message.looksPerSecond);
});
process.on('disconnect', () => process.exit());
