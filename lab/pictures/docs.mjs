// The pictures of docs/pictures: a relay of its own with a partner whose endpoints do well and badly, and three of its pages.
import { randomUUID } from 'node:crypto';
import { mkdirSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { startRoles, startStack, portsOf, tokenOf } from '../../scripts/bench/system.mjs';
import { enterConsole, newPage, openBrowser, openPlace, shown } from '../lib/browser.mjs';
import { portalLink } from '../../scripts/lib/demo.mjs';
import { root } from '../../scripts/lib/paths.mjs';
import { Fault, until } from '../../scripts/lib/process.mjs';

const FOLDER = join(root, 'docs', 'pictures');
const MOST_BYTES = 150_000;
const VIEWPORT = { width: 1_180, height: 720, deviceScaleFactor: 1.5 };
const PATIENCE_MS = 60_000;

/** Endpoints by their path: what each answers from its first request on; the last answer stays. */
const ANSWERS = {
  '/tasks': [[204]],
  '/plans': [[503, 'The database is being upgraded.'], [503, 'The database is being upgraded.'], [204]],
  '/messages': [[500, 'message.recipient is missing']],
  '/taxes': [[204]],
};
const WEBHOOKS = [
  ['task.created', '/tasks', 'Tasks into the CRM', 24],
  ['plan.updated', '/plans', 'Plans for the advisers', 1],
  ['message.created', '/messages', 'Messages to the inbox', 3],
  ['tax_return.filed', '/taxes', 'Archive of tax returns', 9],
];

export async function picturesOfDocs(home, signal, ends) {
  const endpoints = await startEndpoints();
  ends.push(endpoints.close);
  const started = await startStack(home, signal);
  const stack = {
    ...started,
    ports: { ...started.ports, ...(await portsOf({ operations: 1 })) },
    env: { ...started.env, SEARCH_INDEX: join(home, 'search.sqlite'), RETRY_SCHEDULE: '1s,2s' },
    operator: await started.relay('admin', 'clients', 'create', 'operator', 'night shift', '--role', 'admin'),
    partner: await started.relay('admin', 'clients', 'create', 'partner', 'Acme Advisers'),
  };
  const roles = await startRoles(stack, signal);
  ends.push(() => roles.stop());
  const browser = await openBrowser(signal);
  ends.push(() => browser.close());
  const story = await deliver(stack, endpoints.urlOf);

  mkdirSync(FOLDER, { recursive: true });
  const page = await newPage(browser, VIEWPORT);
  await openPlace(page, await portalLink(stack.url, stack.partner));
  // The bars of the last day come after the table.
  await page.waitForFunction(
    "[...document.querySelectorAll('.arrived')].some((bar) => bar.getAttribute('height') > 0)",
  );
  await take(page, 'portal', 590);
  await page.evaluate(`location.hash = '#/deliveries/${story}'`);
  await page.waitForFunction("document.querySelector('.timeline') !== null");
  await shown(page);
  await take(page, 'delivery', 720);
  const operator = await newPage(browser, VIEWPORT);
  const url = `http://127.0.0.1:${stack.ports.operations.OPERATIONS_PORT}`;
  await enterConsole(operator, url, stack.operator);
  await openPlace(operator, `${url}/`);
  await take(operator, 'console', 690);
}

/** @param height how much of the page is seen */
async function take(page, name, height) {
  const path = join(FOLDER, `${name}.webp`);
  await page.screenshot({ path, type: 'webp', quality: 80, clip: { x: 0, y: 0, width: VIEWPORT.width, height } });
  const bytes = statSync(path).size;
  if (bytes > MOST_BYTES)
    throw new Fault(`${path} has ${bytes} bytes: at most ${MOST_BYTES} are to be loaded with a page`);
  console.log(`${path}  ${bytes} bytes`);
}

/** A server for each endpoint: one in trouble is no trouble of another. Resolves with how to end them, and the address of each. */
async function startEndpoints() {
  const servers = await Promise.all(
    Object.entries(ANSWERS).map(async ([path, answers]) => {
      let turn = 0;
      const server = createServer((request, response) => {
        request.resume();
        const [status, body] = answers[Math.min(turn, answers.length - 1)];
        turn += 1;
        response.writeHead(status, { 'content-type': 'text/plain' }).end(body);
      });
      await new Promise((done) => server.listen(0, '127.0.0.1', done));
      return [path, server];
    }),
  );
  const urlOf = (path) => `http://127.0.0.1:${servers.find(([at]) => at === path)[1].address().port}${path}`;
  return { urlOf, close: () => servers.forEach(([, server]) => server.close()) };
}

/** Registers the webhooks and sends what they wait for. Resolves with the id of the envelope that was delivered at its third attempt. */
async function deliver(stack, urlOf) {
  const bearer = async (client) => ({ authorization: `Bearer ${await tokenOf(stack.url, client)}` });
  const [partner, source] = [await bearer(stack.partner), await bearer(stack.source)];
  const post = async (path, headers, body) => {
    const all = { ...headers, 'content-type': 'application/json' };
    const answer = await fetch(stack.url + path, { method: 'POST', headers: all, body: JSON.stringify(body) });
    if (!answer.ok) throw new Fault(`POST ${path}: ${answer.status} ${await answer.text()}`);
  };
  let story;
  for (const [eventType, path, endPointName, count] of WEBHOOKS) {
    await post('/webhooks', partner, { eventType, endPointUrl: urlOf(path), endPointName, apiKey: 'key' });
    for (let sent = 0; sent < count; sent += 1) {
      const envelope = { id: randomUUID(), type: eventType, payload: payloadOf(eventType) };
      await post('/deliveries', source, envelope);
      if (path === '/plans') story = envelope.id;
    }
  }
  const states = async () =>
    (await (await fetch(`${stack.url}/webhooks/status`, { headers: partner })).json()).webhooks;
  const isSettled = async () => {
    const found = await states();
    const sum = found.reduce((total, { delivered, dead }) => total + delivered + dead, 0);
    return sum === WEBHOOKS.reduce((total, [, , , count]) => total + count, 0);
  };
  if (!(await until(isSettled, PATIENCE_MS)))
    throw new Fault(`not all was delivered: ${JSON.stringify(await states())}`);
  return story;
}

const payloadOf = (eventType) => ({
  id: randomUUID(),
  userId: randomUUID(),
  ...(eventType.startsWith('task.') && { financialPlanId: randomUUID() }),
  ...(eventType === 'plan.updated' && { title: 'Retirement at 63', monthly: 850.5, adviser: 'Ines Álvarez' }),
});
