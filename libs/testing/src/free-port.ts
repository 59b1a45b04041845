import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below what outgoing connections and `listen(0)` take theirs from, and what scripts/lib/ports.mjs gives the servers. */
const FIRST = 10_000;
const SHARES = 5;
const SHARE = 2_000;

/** Jest's workers run side by side: each has ports of its own, so that none takes what another was given and has not bound yet. */
const share = Number(process.env['JEST_WORKER_ID'] ?? process.pid) % SHARES;
let next = Math.floor(Math.random() * SHARE);

/** A port that nobody listens on, and that nobody else is given before it is bound. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < SHARE; tries += 1) {
    const port = FIRST + share * SHARE + (next++ % SHARE);
    if (await isFree(port)) return port;
  }
  throw new Error(`none of ${SHARE} ports from ${FIRST + share * SHARE} is free`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port), 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
