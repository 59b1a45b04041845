// npm run bench -- pages: how soon the pages are there, how a long list is read, and what memory serving them takes.
import { join } from 'node:path';
import { readdirSync, renameSync } from 'node:fs';
import { enterConsole, newPage, openBrowser, openPlace } from '../lib/browser.mjs';
import { portalLink } from '../../scripts/lib/demo.mjs';
import { root } from '../../scripts/lib/paths.mjs';
import { Fault } from '../../scripts/lib/process.mjs';
import { machineOf } from '../../scripts/bench/machine.mjs';
import { quantile } from '../../scripts/bench/numbers.mjs';
import { quiet, rssOf } from '../../scripts/bench/proc.mjs';
import { portsOf, register, startRoles, startStack, tokenOf, withRoles } from '../../scripts/bench/system.mjs';
import { startTool } from '../../scripts/bench/tool.mjs';

const COUNT = 100_000;
const VIEWPORT = { width: 1_280, height: 900 };
/** Pages turned, at the head of the list and near its end. */
const TURNS = 20;
/** Visits of somebody whose browser has kept nothing. */
const VISITS = 200;
/** First loads for each of --runs. */
const VISITS_A_RUN = 5;
const PATIENCE_MS = 60_000;

export async function pages(own, { runs, scale }, signal, ends) {
  const started = await startStack(own, signal);
  const env = { ...started.env, SEARCH_INDEX: 'off' };
  const ports = { ...started.ports, ...(await portsOf({ operations: 1 })) };
  const stack = {
    ...started,
    env,
    ports,
    operator: await started.relay('admin', 'clients', 'create', 'operator', 'bench', '--role', 'viewer'),
  };
  const tools = { load: startTool('load'), endpoints: startTool('endpoints') };
  for (const tool of Object.values(tools)) ends.push(() => tool.stop());
  const browser = await openBrowser(signal);
  ends.push(() => browser.close());

  const machine = await machineOf(stack);
  console.log(
    Object.entries(machine)
      .map(([name, value]) => `${name}: ${value}`)
      .join('\n'),
  );
  await withRoles({ stack, tools, signal, ends }, async (relay) => {
    const [url] = await tools.endpoints.ask('listen', { count: 1 });
    await register(stack, [url]);
    await quiet(relay.pids);
    await firstLoads(browser, stack, runs);
    await fill(relay, Math.ceil(COUNT * scale));
    await quiet(relay.pids);
    await longList(browser, stack);
  });
  await memory(stack, runs, signal, ends);
  return 0;
}

async function fill({ tools, target }, count) {
  await tools.load.ask('post', { ...target, count, connections: 64 });
  const { receipts } = await tools.endpoints.ask('complete', { expected: count, patienceMs: PATIENCE_MS });
  if (receipts[0].size < count) throw new Fault(`${receipts[0].size} of ${count} envelopes were delivered`);
}

const consoleUrl = ({ ports }) => `http://127.0.0.1:${ports.operations.OPERATIONS_PORT}`;
const ms = (values, share) => `${quantile(values, share).toFixed(0)} ms`;
const timesOf = (values) => `p50 ${ms(values, 0.5)}, p95 ${ms(values, 0.95)}, max ${ms(values, 1)}`;

/** Notes when the head of the page stands and takes keys, and when all that it asks for is shown, both since the navigation. */
const WATCH = `new MutationObserver(() => {
  if (document.querySelector('nav a') === null) return;
  window.interactiveMs ??= performance.now();
  if (document.querySelector('main h1') !== null && document.querySelector('.loading') === null)
    window.wholeMs ??= performance.now();
}).observe(document, { childList: true, subtree: true })`;

async function firstLoads(browser, stack, runs) {
  const addresses = {
    portal: () => portalLink(stack.url, stack.partner),
    console: async (page) => {
      await enterConsole(page, consoleUrl(stack), stack.operator);
      return `${consoleUrl(stack)}/`;
    },
  };
  for (const [name, addressFor] of Object.entries(addresses)) {
    const [interactive, whole] = [[], []];
    // The first visit fills what the processes and the browser keep: it is told apart.
    for (let run = 0; run <= runs * VISITS_A_RUN; run += 1) {
      const page = await newPage(browser, VIEWPORT);
      const address = await addressFor(page);
      await page.setCacheEnabled(false);
      await page.evaluateOnNewDocument(WATCH);
      await openPlace(page, address);
      // The screen before anybody is in has a title as well.
      await page.waitForFunction('window.wholeMs !== undefined');
      interactive.push(await page.evaluate('interactiveMs'));
      whole.push(await page.evaluate('wholeMs'));
      await page.browserContext().close();
    }
    const [first, ...others] = interactive;
    console.log(
      `${name}: interactive ${timesOf(others)} (first visit of all ${first.toFixed(0)} ms); all shown ${timesOf(whole.slice(1))}`,
    );
  }
}

/** Scrolls from the head to the foot, 40 pixels a frame; resolves with the time of each frame. */
const SCROLL = `new Promise((done) => {
  const frames = [];
  const root = document.scrollingElement;
  root.scrollTop = 0;
  let before;
  const step = (at) => {
    if (before !== undefined) frames.push(at - before);
    before = at;
    if (root.scrollTop + innerHeight >= root.scrollHeight - 1) return done(frames);
    root.scrollTop += 40;
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})`;
/** Follows "Older"; resolves with the time until the next page of the list is shown. */
const TURN = `(async () => {
  const first = () => document.querySelector('tbody td')?.innerText;
  const [before, begun] = [first(), performance.now()];
  [...document.querySelectorAll('main a')].find((link) => link.innerText === 'Older').click();
  while ([undefined, before].includes(first())) await new Promise(requestAnimationFrame);
  return performance.now() - begun;
})()`;

async function longList(browser, stack) {
  const token = await tokenOf(stack.url, stack.partner);
  const headers = { authorization: `Bearer ${token}` };
  // Behind all but the oldest second.
  const oldest = await oldestOf(stack, headers);
  const until = new Date(oldest + 1_000).toISOString();
  const deep = await fetch(`${stack.url}/deliveries?limit=1&until=${until}`, { headers });
  const cursor = /cursor=([^&>]+)/.exec(deep.headers.get('link') ?? '')?.[1];
  if (cursor === undefined) throw new Fault('the list has no end');
  for (const [name, next] of [
    ['its head', '/deliveries'],
    ['near its end', `/deliveries?cursor=${cursor}`],
  ]) {
    const page = await newPage(browser, VIEWPORT);
    await openPlace(page, await portalLink(stack.url, stack.partner, { access: 'write', next }));
    const [frames, turns] = [[], []];
    for (let turn = 0; turn < TURNS; turn += 1) {
      frames.push(...(await page.evaluate(SCROLL)));
      turns.push(await page.evaluate(TURN));
    }
    const { JSHeapUsedSize } = await page.metrics();
    console.log(
      `the list at ${name}: frames while it scrolls ${timesOf(frames)}; next page ${timesOf(turns)}; heap ${(JSHeapUsedSize / 2 ** 20).toFixed(1)} MiB`,
    );
    await page.browserContext().close();
  }
}

/** When the first delivery ended, epoch milliseconds: halves the time until only few are older. */
async function oldestOf(stack, headers) {
  let [none, some] = [Date.now() - 3_600_000, Date.now()];
  while (some - none > 100) {
    const middle = Math.floor((none + some) / 2);
    const asked = `${stack.url}/deliveries?limit=1&until=${new Date(middle).toISOString()}`;
    const { deliveries } = await (await fetch(asked, { headers })).json();
    if (deliveries.length === 0) none = middle;
    else some = middle;
  }
  return some;
}

/** RSS of new processes that serve pages, at rest and after so many visits, beside processes without any that get the same requests. */
async function memory(stack, runs, signal, ends) {
  const parts = {
    ingress: { app: 'portal', document: '/portal', files: '/portal/files/' },
    operations: { app: 'console', document: '/', files: '/files/' },
  };
  for (const [role, { app, document, files }] of Object.entries(parts)) {
    const names = readdirSync(folderOf(app)).filter((name) => /^[a-z]+-\w+\.[a-z]+$/.test(name));
    const paths = [document, ...names.map((name) => files + name)];
    const found = { with: { rest: [], visited: [] }, without: { rest: [], visited: [] } };
    for (let run = 0; run < runs; run += 1)
      for (const [kind, { rest, visited }] of Object.entries(found)) {
        const bring = kind === 'with' ? () => undefined : takeAway(app);
        ends.push(bring);
        const roles = await startRoles({ ...stack, ports: { [role]: stack.ports[role] } }, signal);
        ends.push(roles.stop);
        const pid = roles.pids[role];
        await quiet({ pid });
        rest.push(rssOf(pid));
        const { PORT, OPERATIONS_PORT } = stack.ports[role];
        for (let visit = 0; visit < VISITS; visit += 1)
          await Promise.all(
            paths.map((path) => got(`http://127.0.0.1:${PORT ?? OPERATIONS_PORT}${path}`, kind === 'with' ? 200 : 404)),
          );
        await quiet({ pid });
        visited.push(rssOf(pid));
        ends.splice(ends.indexOf(roles.stop), 1);
        await roles.stop();
        ends.splice(ends.indexOf(bring), 1);
        bring();
      }
    const mib = (values) => `${quantile(values, 0.5).toFixed(1)} MiB`;
    const more = (when) => quantile(found.with[when], 0.5) - quantile(found.without[when], 0.5);
    for (const [kind, { rest, visited }] of Object.entries(found))
      console.log(`${role} ${kind} pages: RSS ${mib(rest)} at rest, ${mib(visited)} after ${VISITS} visits`);
    console.log(`${role}: the pages take ${mib([more('rest')])} at rest, ${mib([more('visited')])} after the visits`);
  }
}

const folderOf = (app) => join(root, 'dist', 'pages', app);

/** Takes the built files of an app away; the answer brings them back. */
function takeAway(app) {
  const away = `${folderOf(app)}.away`;
  renameSync(folderOf(app), away);
  return () => renameSync(away, folderOf(app));
}

async function got(url, status) {
  const answer = await fetch(url, { headers: { 'accept-encoding': 'gzip' } });
  await answer.arrayBuffer();
  if (answer.status !== status) throw new Fault(`${url} answered ${answer.status} instead of ${status}`);
}
