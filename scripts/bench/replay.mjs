// npm run bench -- replay: what live deliveries feel of a replay of 20,000 envelopes to another webhook.
import { setTimeout as delay } from 'node:timers/promises';
import { Fault } from '../lib/process.mjs';
import { spread } from './numbers.mjs';
import { quiet } from './proc.mjs';
import { register, tokenOf } from './system.mjs';
import { diskIsQuiet, healthy, HEALTHY, startTwins } from './twins.mjs';

const PAST = { count: 20_000, connections: 32, type: 'plan.updated' };
const PATIENCE_MS = 60_000;
/** The p99 of live deliveries beside the replay may be this much of what it is without. */
const GOAL = 1.5;

export async function replay(own, { runs }, signal, ends) {
  const found = [];
  for (let run = 1; run <= runs; run += 1) {
    const { one, twin, stop } = await startTwins(own, run, { endpoints: 2 }, signal, ends);
    const figures = await Promise.race([one.broken, twin.broken, measure(one, twin)]);
    found.push(figures);
    const { live, without, counts, seconds } = figures;
    console.log(`replay ${run}/${runs}  ${JSON.stringify(counts)} in ${seconds.toFixed(1)} s`);
    console.log(`  live ${timesOf([live])}, lost ${live.lost}; the twin ${timesOf([without])}, lost ${without.lost}`);
    await stop();
  }
  const ratios = found.map(({ live, without }) => live.p99 / without.p99);
  const verdict = spread(ratios).median <= GOAL ? 'met' : 'missed';
  console.log(`\nlive, 200/s beside a replay of ${PAST.count} envelopes: ${timesOf(found.map(({ live }) => live))}`);
  console.log(
    `the twin, without it: ${timesOf(found.map(({ without }) => without))}${runs > 1 ? ' (min / median / max)' : ''}`,
  );
  console.log(`p99 against the twin: ${textOf(ratios, 2)} (goal ≤ ${GOAL}: ${verdict})\n`);
  return found.some(({ live, without }) => live.lost + without.lost > 0) ? 1 : 0;
}

/** Both have the same past: 20,000 envelopes delivered to a webhook of their own. */
async function measure(one, twin) {
  const replays = [];
  for (const system of [one, twin]) {
    const { stack, tools, target, urls } = system;
    await tools.endpoints.ask('forget');
    await register(stack, urls.slice(1), PAST.type);
    await tools.load.ask('post', { ...target, ...PAST });
    await tools.endpoints.ask('complete', { expected: PAST.count, patienceMs: PATIENCE_MS });
    await quiet(system.pids);
    replays.push(await webhookOf(stack, PAST.type));
  }
  await diskIsQuiet([one, twin]);
  for (const { tools } of [one, twin]) await tools.endpoints.ask('forget');
  // The replay begins with the live ones and its deliveries are waited for as well.
  const replayed = delay(1_000).then(() => replayAll(one, replays[0]));
  const [live, without] = await Promise.all([
    healthy(
      one,
      HEALTHY,
      replayed.then(({ counts }) => counts.matched),
    ),
    healthy(twin, HEALTHY),
  ]);
  return { live, without, ...(await replayed) };
}

async function asPartner({ url, partner }, method, path, body) {
  const authorization = `Bearer ${await tokenOf(url, partner)}`;
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Fault(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

const webhookOf = async (stack, type) => (await asPartner(stack, 'GET', `/webhooks?eventType=${type}`))[0].id;

async function replayAll({ stack }, webhookId) {
  const from = performance.now();
  const { id } = await asPartner(stack, 'POST', `/webhooks/${webhookId}/replay`, {});
  for (;;) {
    const { state, matched, done, failed } = await asPartner(stack, 'GET', `/replays/${id}`);
    if (state === 'done') return { counts: { matched, done, failed }, seconds: (performance.now() - from) / 1_000 };
    await delay(250);
  }
}

/** Of several runs: min / median / max. */
const textOf = (values, digits) =>
  (values.length === 1 ? values : Object.values(spread(values))).map((value) => value.toFixed(digits)).join(' / ');
const timesOf = (each) => {
  const of = (figure) =>
    textOf(
      each.map((figures) => figures[figure]),
      1,
    );
  return `p50 ${of('p50')} ms, p99 ${of('p99')} ms`;
};
