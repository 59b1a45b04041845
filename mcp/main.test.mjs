// Plays an assistant against the program. The operations API is the one in RELAY_MCP_TEST_URL, or a server that answers what it got.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const openapi = readFileSync(new URL('../docs/operations.openapi.json', import.meta.url));
let server;
let url;
before(async () => {
  server = createServer(async (request, response) => {
    const { method, headers } = request;
    const body = Buffer.concat(await request.toArray()).toString();
    const heard = { method, url: request.url, authorization: headers.authorization, body };
    response.statusCode = request.url.startsWith('/lag') ? 503 : 200;
    response.setHeader('content-type', 'application/json');
    response.end(request.url === '/openapi.json' ? openapi : JSON.stringify(heard));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${server.address().port}`;
});
after(() => server.close());

async function connected(...args) {
  const client = new Client({ name: 'test', version: '1' });
  const env = { PATH: process.env.PATH, OPERATIONS_URL: url, OPERATOR_CLIENT_ID: 'op', OPERATOR_CLIENT_SECRET: 's:%' };
  const main = new URL('main.mjs', import.meta.url).pathname;
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [main, ...args], env }));
  const call = async (name, given) => {
    const { content, isError } = await client.callTool({ name, arguments: given });
    return { text: content[0].text, isError };
  };
  return { client, call };
}

await test('reads, and offers nothing that changes something', async () => {
  const { client, call } = await connected();
  const { tools } = await client.listTools();
  assert.ok(tools.length > 10);
  assert.ok(tools.every(({ annotations }) => annotations.readOnlyHint));
  assert.ok(!tools.some(({ name }) => name === 'purgeDeadLetters'));
  const found = JSON.parse((await call('readDeadLetter', { id: 'a/../b?x' })).text);
  assert.deepEqual([found.method, found.url], ['GET', '/dead-letters/a%2F..%2Fb%3Fx']);
  assert.equal(Buffer.from(found.authorization.slice(6), 'base64').toString(), 'op:s%3A%25');
  assert.equal(
    JSON.parse((await call('searchAttempts', { host: 'a&b', limit: 5 })).text).url,
    '/attempts?host=a%26b&limit=5',
  );
  const write = await call('purgeDeadLetters', { body: {} });
  assert.deepEqual(write, { text: 'There is no tool purgeDeadLetters.', isError: true });
  await client.close();
});

await test('names a wrong argument, and passes a refusal on', async () => {
  const { client, call } = await connected();
  assert.match((await call('readDeadLetter', {})).text, /needs the argument id/);
  assert.match((await call('readDeadLetter', { id: '..' })).text, /id cannot be "\.\."/);
  assert.match((await call('readLag', { topics: 1 })).text, /has no argument topics/);
  const refused = await call('readLag', {});
  assert.ok(refused.isError && refused.text.startsWith('503 '));
  await client.close();
});

await test('changes something only if it is allowed', async () => {
  const { client, call } = await connected('--allow-writes');
  const { tools } = await client.listTools();
  const purge = tools.find(({ name }) => name === 'purgeDeadLetters');
  assert.equal(purge.annotations.destructiveHint, true);
  assert.ok(!JSON.stringify(tools).includes('#/components/'));
  const body = { ids: ['1'] };
  const found = JSON.parse((await call('purgeDeadLetters', { body })).text);
  assert.deepEqual([found.method, found.url, JSON.parse(found.body)], ['POST', '/dead-letters/purge', body]);
  await client.close();
});
