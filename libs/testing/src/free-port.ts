import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the range of outgoing connections and `listen(0)`, and below the ports of scripts/lib/ports.mjs. */
const FIRST = 10_000;
const SHARES = 5;
const SHARE = 2_000;

/** Each of Jest's workers has a range of its own, so that none takes a port that another has chosen and not bound yet. */
const share = Number(process.env['JEST_WORKER_ID'] ?? process.pid) % SHARES;
let next = Math.floor(Math.random() * SHARE);

/** A free port that no other call returns. */
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
