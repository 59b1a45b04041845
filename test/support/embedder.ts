import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

const [, SNIPPET = ''] = /```html\n(.*?)```/s.exec(readFileSync('docs/portal.md', 'utf8')) ?? [];

/** What the application of a partner knows. */
export interface Application {
  /** Address of the relay. */
  readonly relay: string;
  readonly portalLink: () => Promise<string>;
}

/** The application of a partner, with the page of docs/portal.md that shows the portal in a frame. Its title is what the frame says. */
export async function anEmbedder(application: () => Application): Promise<Server> {
  const server = createServer((request, response) => {
    const { relay, portalLink } = application();
    if (request.url === '/portal-link') void portalLink().then((url) => response.end(JSON.stringify({ url })));
    else
      response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><title>app</title>
<script>addEventListener('message', ({ data }) => (document.title = data.type));</script>
${SNIPPET.replace('https://relay.example', relay)}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

export const originOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
