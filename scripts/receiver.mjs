// A webhook endpoint to try the relay with: answers 200, prints each delivery and lists them at GET /received.
// PUT /outage?path=/PATH&seconds=N lets that path answer 503 for a while.
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';

const KEPT = 100;

/** Listens on 127.0.0.1 by default; `print` gets each line. Resolves with the server once it listens. */
export function startReceiver(port, print, host = '127.0.0.1') {
  const received = [];
  const outages = new Map(); // the end of each, by its path
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.method === 'GET' && request.url === '/received') {
      // Asked right after an envelope was posted, it waits for the delivery a little.
      for (let tries = 0; received.length === 0 && tries < 100; tries += 1) await delay(50);
      return response.end(received.map((line) => `${line}\n`).join(''));
    }
    const { pathname, searchParams } = new URL(request.url, 'http://receiver');
    if (request.method === 'PUT' && pathname === '/outage') {
      outages.set(searchParams.get('path'), Date.now() + searchParams.get('seconds') * 1000);
      return response.end();
    }
    if (Date.now() < outages.get(pathname)) response.statusCode = 503;
    const shown = ['webhook-id', 'relay-attempt', 'x-api-key', 'authorization'].filter((name) => request.headers[name]);
    const headers = shown.map((name) => `${name}: ${request.headers[name]}`).join(', ');
    const answer = response.statusCode === 200 ? '' : `, answered ${response.statusCode}`;
    const line = `${request.method} ${request.url} (${headers}${answer}) ${Buffer.concat(chunks).toString('utf8')}`;
    received.splice(0, Math.max(0, received.length + 1 - KEPT));
    received.push(line);
    print(line);
    return response.end();
  });
  return new Promise((done, fail) => {
    server.once('error', fail);
    server.listen(port, host, () => done(server));
  });
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const port = Number(process.env.RECEIVER_PORT ?? 3300);
  const host = process.env.RECEIVER_HOST ?? '127.0.0.1';
  await startReceiver(port, console.log, host);
  console.log(`listening on http://${host}:${port}/`);
}
