// npm run bench -- isolation: latency of healthy endpoints beside others that never answer, beside a partner that floods, and beside
// bad paths of their own origin.
import { setTimeout as delay } from 'node:timers/promises';
import { ask } from '../../scripts/lib/tcp.mjs';
import { spread } from '../../scripts/bench/numbers.mjs';
import { quiet } from '../../scripts/bench/proc.mjs';
import { register } from '../../scripts/bench/system.mjs';
import { diskIsQuiet, healthy, HEALTHY, startTwins } from './twins.mjs';

/** A minute without a flood: of 20 s a single pause of 200 ms, somebody else's or the machine's, would be the p99. */
const LONG = { ...HEALTHY, count: 12_000 };
const FLOOD = { count: 50_000, connections: 32, rate: 2_000, type: 'message.created' };
const WAITING = { count: 1_000, connections: 32, type: 'plan.created' };
const PARTNERS = 10;
/** The p99 of a webhook beside a bad path of its own partner and origin may be this much of what it is alone. */
const SIBLING_GOAL = 2;

/**
 * The parts of one run, in this order. Each is held against its baseline: another part, or the twin in the same minute. A flood
 * goes to each of the two, so that both have the same behind them when the parts with a twin come.
 */
const PARTS = {
  'many partners': {
    title: '2,000/s more, spread over 10 healthy partners',
    measure: ({ one }) => flooded(one, false),
  },
  flood: {
    title: '2,000/s more, all to one partner',
    measure: ({ twin }) => flooded(twin, true),
    against: 'many partners',
  },
  'one silent': {
    title: '1 endpoint that never answers, 1,000 deliveries waiting for it',
    measure: (both) => besideSilent(both, 1),
    against: 'the twin',
  },
  'twenty silent': {
    title: '20 endpoints that never answer, 1,000 deliveries waiting for each',
    measure: (both) => besideSilent(both, 20),
    against: 'the twin',
  },
  'failing sibling': {
    title: 'a webhook of the same partner and origin whose path answers 503, 20/s',
    measure: (both) => besideSibling(both, 'failing', 20),
    against: 'the twin',
    goal: SIBLING_GOAL,
  },
  'hanging sibling': {
    title: 'one whose path never answers, 20/s',
    measure: (both) => besideSibling(both, 'hanging', 20),
    against: 'the twin',
    goal: SIBLING_GOAL,
  },
  'flooded sibling': {
    title: 'one whose path answers after 900 ms, 100/s: more than the endpoint has slots for',
    measure: (both) => besideSibling(both, 'flooded', 100),
    against: 'the twin',
    goal: SIBLING_GOAL,
  },
  'flooded elsewhere': {
    title: 'the same at another endpoint of the partner, which takes as much of the machine',
    measure: (both) => besideSibling(both, 'flooded', 100, 1),
    against: 'the twin',
    goal: SIBLING_GOAL,
  },
  'resting sibling': {
    title: 'one whose path answers 429 with Retry-After, 20/s',
    measure: (both) => besideSibling(both, 'resting', 20),
    against: 'the twin',
    goal: SIBLING_GOAL,
  },
};
/** The p99 of healthy endpoints beside a bad one may be this much of what it is without. */
const GOAL = 1.2;

export async function isolation(own, { runs }, signal, ends) {
  const found = Object.fromEntries(Object.keys(PARTS).map((part) => [part, []]));
  for (let run = 1; run <= runs; run += 1) {
    const { one, twin, stop } = await startTwins(own, run, { endpoints: 1 + PARTNERS }, signal, ends);
    for (const [part, { measure }] of Object.entries(PARTS)) {
      for (const { pids } of [one, twin]) await quiet(pids);
      const figures = await Promise.race([one.broken, twin.broken, measure({ one, twin })]);
      found[part].push(figures);
      console.log(`${part} ${run}/${runs}  ${lineOf(figures)}`);
    }
    await stop();
  }
  console.log(`\n${tableOf(found)}\n`);
  const all = Object.values(found).flat();
  return all.some(({ lost }) => lost > 0) ? 1 : 0;
}

/** Beside it a flood, to one partner or to many; it begins before and ends after. */
async function flooded(system, isOne) {
  const { stack, tools, target, urls } = system;
  const partners = [];
  const ends = [];
  for (const url of isOne ? urls.slice(1, 2) : urls.slice(1)) {
    const partner = await stack.relay('admin', 'clients', 'create', 'partner', 'flooded');
    partners.push(partner.clientId);
    ends.push(await register({ ...stack, partner }, [url], FLOOD.type));
  }
  await tools.endpoints.ask('forget');
  const flood = tools.flood.ask('post', { ...target, ...FLOOD, partners });
  await delay(2_000);
  const figures = await healthy(
    system,
    HEALTHY,
    flood.then(({ accepted }) => accepted.size),
  );
  for (const end of ends) await end();
  return figures;
}

/** Beside endpoints that never answer, once everything for them waits as jobs; the twin has none. */
async function besideSilent({ one, twin }, count) {
  const { stack, tools, target } = one;
  const end = await register(stack, await tools.endpoints.ask('listenSilent', { count }), WAITING.type);
  await tools.load.ask('post', { ...target, ...WAITING });
  await settled(stack.redisPort);
  await diskIsQuiet([one, twin]);
  for (const system of [one, twin]) await system.tools.endpoints.ask('forget');
  const [figures, without] = await Promise.all([healthy(one, LONG), healthy(twin, LONG)]);
  const atOnce = await tools.endpoints.ask('mostAtOnce');
  await end();
  return { ...figures, lost: figures.lost + without.lost, atOnce, without };
}

/** Beside a webhook of the same partner at another path of an origin, its own unless told; its load begins before and ends after. The twin has none. */
async function besideSibling({ one, twin }, path, rate, origin = 0) {
  const { stack, tools, target, urls } = one;
  const end = await register(stack, [new URL(`/${path}`, urls[origin]).href], WAITING.type);
  for (const system of [one, twin]) await system.tools.endpoints.ask('forget');
  const load = { count: rate * 70, connections: 4, rate, type: WAITING.type };
  const sibling = tools.flood.ask('post', { ...target, ...load });
  await delay(2_000);
  const [figures, without] = await Promise.all([healthy(one, LONG), healthy(twin, LONG)]);
  await sibling;
  await end();
  return { ...figures, lost: figures.lost + without.lost, without };
}

/** Until no more deliveries become jobs. */
async function settled(port) {
  const waiting = () =>
    ask(port, 'ZCARD {relay:0}:deliveries:delayed\r\n', (answer) => /^:(\d+)\r$/m.exec(answer.toString('latin1'))?.[1]);
  for (let before, now = await waiting(); now !== before || now === '0';) {
    await delay(3_000);
    before = now;
    now = await waiting();
  }
}

const lineOf = ({ p50, p99, lost, atOnce, without }) =>
  `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, lost ${lost}${
    without === undefined
      ? ''
      : `${atOnce === undefined ? '' : `, at most ${atOnce} at once to one that never answers`}; the twin p50 ${without.p50.toFixed(1)} ms, p99 ${without.p99.toFixed(1)} ms`
  }`;

function tableOf(found) {
  return Object.entries(PARTS)
    .map(([part, { title, against, goal = GOAL }]) => {
      const text = ({ min, median, max }, digits) =>
        [min, median, max].map((value) => value.toFixed(digits)).join(' / ');
      const times = (each) => {
        const of = (figure) => spread(each.map((run) => run[figure]));
        return `p50 ${text(of('p50'), 1)} ms, p99 ${text(of('p99'), 1)} ms`;
      };
      const lost = found[part].reduce((sum, run) => sum + run.lost, 0);
      const line = `${part}: ${title}\n  ${times(found[part])} (min / median / max), lost ${lost}`;
      if (against === undefined) return line;
      const baselines = found[part].map(({ without }, run) => without ?? found[against][run]);
      const ratios = spread(found[part].map(({ p99 }, run) => p99 / baselines[run].p99));
      return `${line}\n  ${against}: ${times(baselines)}\n  p99 against it: ${text(ratios, 2)} (goal ≤ ${goal}: ${ratios.median <= goal ? 'met' : 'missed'})`;
    })
    .join('\n');
}
