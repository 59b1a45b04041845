import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A page of somebody's application, which shows what its address names in a frame, and its title what the frame says. */
export async function anEmbedder(): Promise<Server> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><title>app</title><iframe></iframe>
<script>
  addEventListener('message', ({ data }) => (document.title = data.type));
  document.querySelector('iframe').src = location.href.slice(location.href.indexOf('?') + 1);
</script>`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

export const originOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
