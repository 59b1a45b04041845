// A source and an endpoint on the node: posts envelopes at a steady rate and counts what becomes of each. In the node's namespaces;
// its first argument is a file of its settings, JSON; the end of its input ends the load. Prints what it found, one line of JSON.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request as send } from 'node:http';
import { createServer } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';

const TYPE = 'task.created';
const ANSWER_MS = 20_000;
const LATE_MS = 120_000;
const TICK_MS = 5;
const settings = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const { url, partner, apiKey, rate, kept, address, tls } = settings;
const sent = new Map();
const failed = [];
let resent = 0;
const over = new AbortController();
process.stdin.resume().on('end', () => over.abort());

const endpoint = createServer({ key: tls.key, cert: tls.certificate }, (request, response) => {
  const id = request.headers['webhook-id'];
  const found = sent.get(id) ?? { deliveries: 0 };
  sent.set(id, found);
  request.resume().on('end', () => {
    found.deliveries += 1;
    found.deliveredAt ??= performance.now();
    response.end();
  });
});
await new Promise((done) => endpoint.listen(Number(new URL(settings.endpoint).port), address, done));
await register();
console.log(JSON.stringify({ ready: true }));

const agent = new Agent({ keepAlive: true });
const running = [];
const since = performance.now();
const seconds = () => (performance.now() - since) / 1000;
while (!over.signal.aborted) {
  while (running.length < seconds() * rate)
    running.push(post(Math.floor(running.length * kept) !== Math.floor((running.length + 1) * kept)));
  await delay(TICK_MS);
}
const perSecond = Math.round(running.length / seconds());
await Promise.all(running);
const isWaiting = () => [...sent.values()].some((one) => one.acceptedAt !== undefined && one.deliveries === 0);
for (const deadline = performance.now() + LATE_MS; isWaiting() && performance.now() < deadline;) await delay(100);
await delay(1_000); // duplicates follow
// A pipe takes a long line in pieces, and an exit drops the pieces that are left.
process.stdout.write(`${JSON.stringify(summary())}\n`, () => process.exit());

/** @param isKept on a connection that is kept, as most sources have it; else on one of its own */
async function post(isKept) {
  const id = randomUUID();
  const one = { deliveries: 0, postedAt: performance.now() };
  sent.set(id, one);
  const task = { id: randomUUID(), userId: randomUUID(), financialPlanId: randomUUID() };
  const at = new Date().toISOString().slice(11, 23);
  try {
    const body = { id, type: TYPE, payload: task };
    const headers = { 'x-api-key': apiKey };
    const { status, text } = await call('POST', '/deliveries', headers, body, isKept ? agent : false).catch((error) => {
      if (!error.isOfKept) throw error;
      // RFC 9112 section 9.3.1: the server may close a kept connection at any time, so its client sends again.
      resent += 1;
      return call('POST', '/deliveries', headers, body);
    });
    if (status === 202) one.acceptedAt = performance.now();
    else failed.push({ at, isKept, why: `${status} ${text.slice(0, 200)}` });
  } catch (error) {
    failed.push({ at, isKept, why: error.name === 'AbortError' ? error.message : (error.code ?? error.message) });
  }
}

/** @param by the agent of kept connections, or false for one that closes */
function call(method, path, headers, body, by = false) {
  const bytes = body && Buffer.from(JSON.stringify(body));
  const own = { ...headers, ...(bytes && { 'content-type': 'application/json', 'content-length': bytes.length }) };
  const options = { method, headers: own, agent: by, signal: AbortSignal.timeout(ANSWER_MS) };
  return new Promise((done, fail) => {
    const request = send(url + path, options, (response) => {
      const parts = [];
      response.on('data', (part) => parts.push(part));
      response.on('end', () => done({ status: response.statusCode, text: Buffer.concat(parts).toString() }));
      response.on('error', fail);
    });
    request.on('error', (error) => {
      const isOfKept = request.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(error.code);
      fail(Object.assign(error, { isOfKept }));
    });
    request.end(bytes);
  });
}

/** Every ingress knows a new client only after two seconds. */
async function register() {
  const authorization = `Basic ${Buffer.from(partner).toString('base64')}`;
  for (const deadline = performance.now() + 60_000; ; await delay(500)) {
    const granted = await call('POST', '/auth/token', { authorization }).catch((error) => ({ text: String(error) }));
    const token = granted.status === 200 ? JSON.parse(granted.text).access_token : undefined;
    const webhook = { eventType: TYPE, endPointUrl: settings.endpoint, apiKey };
    const made =
      token && (await call('POST', '/webhooks', { authorization: `Bearer ${token}` }, webhook).catch(() => undefined));
    if (made?.status === 201 || made?.status === 409) return; // made now, or by a load before
    if (performance.now() > deadline) throw new Error(`no webhook: token ${granted.status}, ${made?.text}`);
  }
}

function summary() {
  const all = [...sent.values()];
  const accepted = all.filter((one) => one.acceptedAt !== undefined);
  const took = accepted
    .filter((one) => one.deliveredAt !== undefined)
    .map((one) => one.deliveredAt - one.postedAt)
    .toSorted((a, b) => a - b);
  const share = (part) => Math.round(took[Math.min(took.length - 1, Math.floor(took.length * part))] ?? Number.NaN);
  return {
    posted: running.length,
    perSecond,
    accepted: accepted.length,
    failed,
    resent,
    lost: accepted.filter((one) => one.deliveries === 0).length,
    duplicates: all.reduce((sum, one) => sum + Math.max(0, one.deliveries - 1), 0),
    medianMs: share(0.5),
    p99Ms: share(0.99),
    slowestMs: share(1),
  };
}
