import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { OperationsClient, OperationsRefused } from './operations-client.js';

describe('the client of the operations app', () => {
  const asked: string[] = [];
  let server: Server;
  let client: OperationsClient;
  beforeAll(async () => {
    server = createServer((request, response) => {
      request.setEncoding('utf8').on('data', (text: string) => asked.push(text));
      request.on('end', () => {
        asked.push(`${String(request.method)} ${String(request.url)} ${String(request.headers.authorization)}`);
        if (request.url === '/relay/queues') response.end('{"queues":[]}');
        else if (request.url === '/relay/clients')
          response.setHeader('link', '</clients?cursor=7>; rel="next"').end('{"clients":[1]}');
        else if (request.url === '/relay/clients?cursor=7') response.end('{"clients":[2]}');
        else if (request.url === '/relay/lag') response.writeHead(502).end('no such host');
        else if (request.url === '/relay/audit') response.end('<h1>Log in</h1>');
        else if (request.url === '/relay/webhooks') response.end();
        else if (request.url === '/relay/doctor')
          response.writeHead(301, { location: 'https://relay.example/doctor' }).end();
        else if (request.url === '/relay/now') response.writeHead(401).end('{"detail":"The secret is wrong."}');
        else if (request.method === 'DELETE') response.writeHead(204).end();
        else response.writeHead(404).end('{"detail":"There is no such webhook."}');
      });
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/relay/`;
    client = new OperationsClient({ url, clientId: 'operator_1', clientSecret: 'relay_sk_1' });
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it('sends an operation to its path, as the operator', async () => {
    const basic = `Basic ${btoa('operator_1:relay_sk_1')}`;
    expect(await client.call('readQueues', {})).toEqual({ queues: [] });
    expect(await client.call('cancelReplay', { path: { id: 'a/b' } })).toBeUndefined();
    const replay = client.call('orderReplay', { body: { webhook: 'w', status: 'all', dryRun: true } });
    await expect(replay).rejects.toThrow(OperationsRefused);
    await expect(client.call('listWebhooks', { query: { status: 'parked', limit: 5 } })).rejects.toThrow();
    expect(asked).toEqual([
      `GET /relay/queues ${basic}`,
      `DELETE /relay/replays/a%2Fb ${basic}`,
      '{"webhook":"w","status":"all","dryRun":true}',
      `POST /relay/replays ${basic}`,
      `GET /relay/webhooks?status=parked&limit=5 ${basic}`,
    ]);
  });

  it('follows a list from page to page', async () => {
    expect(await client.all('listClients', {}, ({ clients }) => clients)).toEqual([1, 2]);
  });

  it('says what the app says, what answers in its place, and that nothing does', async () => {
    await expect(client.call('readWebhook', { path: { id: 'w' } })).rejects.toMatchObject({
      status: 404,
      message: 'There is no such webhook.',
    });
    await expect(client.call('readLag', {})).rejects.toThrow('The operations app answers 502: no such host');
    for (const name of ['readAudit', 'listWebhooks'] as const)
      await expect(client.call(name, {})).rejects.toThrow('not with JSON: OPERATIONS_URL is not the address');
    await expect(client.call('readFindings', {})).rejects.toThrow(
      'leads to https://relay.example/doctor: OPERATIONS_URL',
    );
    await expect(client.call('readNow', {})).rejects.toThrow('refuses the operator operator_1: The secret is wrong.');
    const nowhere = new OperationsClient({ url: 'http://127.0.0.1:1', clientId: 'o', clientSecret: 's' });
    await expect(nowhere.call('readLag', {})).rejects.toThrow(
      /does not answer at http:\/\/127\.0\.0\.1:1 \(.*(?:port|ECONNREFUSED).*\): start it/,
    );
  });
});
