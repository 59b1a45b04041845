import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Above 10080, the last port that fetch refuses. Below the range of outgoing connections and `listen(0)`, and below the ports of
 * scripts/lib/ports.mjs.
 */
const FIRST = 10_081;
const COUNT = 9_900;

let next = Math.floor(Math.random() * COUNT);

/** A free port that no other call returns, in no process of this machine, until this process ends. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < COUNT; tries += 1) {
    const port = FIRST + (next++ % COUNT);
    if ((await isFree(port)) && (await claim(port))) return port;
  }
  throw new Error(`none of ${COUNT} ports from ${FIRST} is free`);
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

/** Holds the UDP port of this number: the caller binds the TCP port later, and other runs ask for ports meanwhile. */
async function claim(port: number): Promise<boolean> {
  const socket = createSocket('udp4').unref();
  try {
    await once(socket.bind({ port, address: '127.0.0.1', exclusive: true }), 'listening');
    return true;
  } catch {
    socket.close();
    return false;
  }
}
