// helm test: makes a partner, a source bound to it and a webhook, sends one envelope, sees it delivered, deletes the
// webhook and disables both clients.
// SMOKE_TEST_RELAY is the relay's address, SMOKE_TEST_ENDPOINT where the envelope goes. By default that is the relay itself: it
// has the envelope by then, says `duplicate`, which is a 2xx, and publishes nothing again.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const relayUrl = process.env.SMOKE_TEST_RELAY;
const endpoint = await byAddress(new URL(process.env.SMOKE_TEST_ENDPOINT));
const role = process.env.SMOKE_TEST_ROLE ?? join(import.meta.dirname, 'role.mjs');
const PATIENCE_MS = 60_000;

/** A name without a dot, such as a Service's in development, is no endpoint to the relay; its address is one if egress is opened for it. */
async function byAddress(url) {
  if (!/[.:]/.test(url.hostname)) url.hostname = (await lookup(url.hostname, { family: 4 })).address;
  return url.href;
}

/** One command of `relay`, and the JSON that it prints. */
async function relay(...args) {
  const { stdout } = await promisify(execFile)(process.execPath, [role, 'relay', ...args, '--json']);
  return JSON.parse(stdout);
}

async function call(method, path, headers, body) {
  const answer = await fetch(relayUrl + path, {
    method,
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(10_000),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path} is answered ${answer.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}

/** Repeats until it succeeds: every ingress knows a new client only after two seconds. */
async function eventually(task) {
  for (const deadline = Date.now() + PATIENCE_MS; ;) {
    try {
      return await task();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await delay(500);
    }
  }
}

const ends = [];
try {
  const partner = await relay('admin', 'clients', 'create', 'partner', 'smoke-test');
  ends.push(() => relay('admin', 'clients', 'disable', partner.clientId));
  const source = await relay(
    'admin',
    'clients',
    'create',
    'source',
    'smoke-test',
    '--api-key',
    '--partner',
    partner.clientId,
  );
  ends.push(() => relay('admin', 'clients', 'disable', source.clientId));

  const basic = Buffer.from(`${partner.clientId}:${partner.clientSecret}`).toString('base64');
  const { access_token } = await eventually(() => call('POST', '/auth/token', { authorization: `Basic ${basic}` }));
  const authorization = `Bearer ${access_token}`;
  const eventType = 'task.created';
  const webhook = { eventType, endPointUrl: endpoint, apiKey: source.apiKey };
  await call('POST', '/webhooks', { authorization }, webhook);
  ends.push(() => call('DELETE', '/webhooks', { authorization }, { eventType }));

  const task = { id: randomUUID(), userId: randomUUID(), financialPlanId: randomUUID() };
  const envelope = { id: randomUUID(), type: eventType, payload: task };
  await eventually(() => call('POST', '/deliveries', { 'x-api-key': source.apiKey }, envelope));
  console.log(`accepted: ${envelope.id}, on its way to ${endpoint}`);
  await eventually(async () => {
    const story = JSON.stringify(await call('GET', `/deliveries/${envelope.id}`, { authorization }));
    if (!story.includes('"delivered"')) throw new Error(`not delivered in time: ${story}`);
  });
  console.log('delivered');
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exitCode = 1;
} finally {
  for (const end of ends.toReversed()) await end().catch((error) => console.error(`left behind: ${error.message}`));
}
