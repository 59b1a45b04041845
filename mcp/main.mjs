#!/usr/bin/env node
// Serves the operations API of a relay to an AI assistant over stdin and stdout. Settings as of the relay's command line:
// OPERATIONS_URL, OPERATOR_CLIENT_ID, OPERATOR_CLIENT_SECRET. Operations that change something need --allow-writes.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { requestOf, toolsOf } from './tools.mjs';

/** An answer longer than this is cut, because it fills the memory of the assistant. */
const MOST_CHARACTERS = 50_000;
const TIMEOUT_MS = 15_000;

const fail = (message) => {
  console.error(`partner-relay-mcp: ${message}`);
  process.exit(1);
};

const args = process.argv.slice(2);
const unknown = args.find((arg) => arg !== '--allow-writes');
if (unknown) fail(`unknown argument ${unknown}; the only one is --allow-writes`);
const {
  OPERATIONS_URL: url = 'http://127.0.0.1:3100',
  OPERATOR_CLIENT_ID: id,
  OPERATOR_CLIENT_SECRET: secret,
} = process.env;
if (!id || !secret)
  fail('set OPERATOR_CLIENT_ID and OPERATOR_CLIENT_SECRET to an operator, best one with the role viewer');
if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
  fail(`OPERATIONS_URL is no URL of http or https: ${url}`);
const authorization = `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`;

async function ask({ headers, url: target, ...request }) {
  const answer = await fetch(target, {
    ...request,
    headers: { ...headers, authorization, accept: 'application/json' },
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((error) => {
    throw new Error(`The operations app at ${url} did not answer: ${error.cause?.message ?? error.message}.`);
  });
  return { status: answer.status, isOk: answer.ok, text: await answer.text() };
}

const described = await ask({ url: new URL('/openapi.json', url), method: 'GET' }).catch((error) =>
  fail(error.message),
);
if (!described.isOk) fail(`${url} refused to describe itself: ${described.status} ${described.text}`);
const document = JSON.parse(described.text);
const tools = new Map(toolsOf(document, args.includes('--allow-writes')).map((each) => [each.tool.name, each]));

const server = new Server({ name: 'partner-relay', version: document.info.version }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [...tools.values()].map(({ tool }) => tool) }));
server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: given = {} } }) => {
  try {
    const operation = tools.get(name);
    if (!operation) throw new Error(`There is no tool ${name}.`);
    const { status, isOk, text } = await ask(requestOf(operation, given, url));
    const cut =
      text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}\n(cut: ask for fewer, with limit)` : text;
    return { content: [{ type: 'text', text: isOk ? cut || `${status}` : `${status} ${cut}` }], isError: !isOk };
  } catch (error) {
    return { content: [{ type: 'text', text: error.message }], isError: true };
  }
});
await server.connect(new StdioServerTransport());
