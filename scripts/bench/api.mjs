// npm run bench -- api: how soon the management API answers, and whether wrong secrets of one client slow another.
import { isMet } from './report.mjs';
import { spread } from './numbers.mjs';
import { quiet } from './proc.mjs';
import { register, startRoles, startStack, tokenOf } from './system.mjs';
import { startTool } from './tool.mjs';

const WEBHOOKS = 10;
const LISTING = { method: 'GET', path: '/webhooks', count: 15_000, connections: 8, rate: 500 };
const TOKENS = { method: 'POST', path: '/auth/token', count: 1_000, connections: 4, rate: 50 };
/** Fifty at once, every second as long as the tokens are asked for. */
const GUESSES = { ...TOKENS, count: 1_000, connections: 50, rate: 50 };

const PARTS = {
  listing: { title: `GET /webhooks of ${WEBHOOKS} webhooks, 500 a second for 30 s`, goal: { atMost: 10 } },
  tokens: { title: 'POST /auth/token, 50 a second for 20 s' },
  'beside guesses': { title: 'the same, beside 50 wrong secrets of another client at once, then 50 a second' },
};

export async function api(own, { runs }, signal, ends) {
  const stack = await startStack(own, signal);
  const tools = { load: startTool('load'), guesser: startTool('load') };
  for (const tool of Object.values(tools)) ends.push(() => tool.stop());
  // One client asks for more tokens than one may.
  const roles = await startRoles({ ...stack, env: { ...stack.env, TOKEN_RATE_LIMIT: '1000000' } }, signal);
  ends.push(() => roles.stop());
  const port = Number(stack.ports.ingress.PORT);
  const urls = Array.from({ length: WEBHOOKS }, (_, index) => `http://127.0.0.1:9/${index}`);
  await register(stack, urls);
  const bearer = { port, authorization: `Bearer ${await tokenOf(stack.url, stack.partner)}` };
  const basic = { port, authorization: basicOf(stack.partner) };
  const wrong = { port, authorization: basicOf({ ...stack.source, clientSecret: 'wrong' }) };

  const measures = {
    listing: () => only('200', tools.load.ask('call', { ...bearer, ...LISTING })),
    tokens: () => only('200', tools.load.ask('call', { ...basic, ...TOKENS })),
    'beside guesses': async () => {
      const guesses = tools.guesser
        .ask('call', { ...wrong, ...GUESSES, count: 50, rate: undefined })
        .then(() => tools.guesser.ask('call', { ...wrong, ...GUESSES }));
      const figures = await only('200', tools.load.ask('call', { ...basic, ...TOKENS }));
      const { answers } = await guesses;
      return { ...figures, guesses: Object.entries(answers).map(([status, count]) => `${count} × ${status}`) };
    },
  };
  const measured = async () => {
    await tools.load.ask('call', { ...bearer, ...LISTING, count: 5_000 }); // warm
    await tools.load.ask('call', { ...basic, ...TOKENS, count: 500 });
    const found = Object.fromEntries(Object.keys(PARTS).map((part) => [part, []]));
    for (let run = 1; run <= runs; run += 1)
      for (const part of Object.keys(PARTS)) {
        await quiet({ ...roles.pids, ...stack.pids });
        const figures = await measures[part]();
        found[part].push(figures);
        const { p50, p99, lateP99, guesses } = figures;
        const others = guesses === undefined ? '' : `, guesses answered ${guesses.join(', ')}`;
        console.log(`${part} ${run}/${runs}  p50 ${ms(p50)}, p99 ${ms(p99)}, sent late p99 ${ms(lateP99)}${others}`);
      }
    console.log(`\n${tableOf(found)}\n`);
    return 0;
  };
  return Promise.race([roles.broken, measured()]);
}

const basicOf = ({ clientId, clientSecret }) =>
  `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
const ms = (value) => `${value.toFixed(1)} ms`;

/** A run in which anything else was answered measures something else. */
async function only(status, asked) {
  const { answers, ...figures } = await asked;
  const others = Object.keys(answers).filter((each) => each !== status);
  if (others.length > 0) throw new Error(`answered ${JSON.stringify(answers)}, not only ${status}`);
  return figures;
}

function tableOf(found) {
  return Object.entries(PARTS)
    .map(([part, { title, goal }]) => {
      const of = (figure) => spread(found[part].map((run) => run[figure]));
      const text = ({ min, median, max }) => [min, median, max].map((value) => value.toFixed(1)).join(' / ');
      const verdict = goal ? ` (goal: p99 ≤ ${goal.atMost} ms, ${isMet(goal, of('p99')) ? 'met' : 'missed'})` : '';
      return `${part}: ${title}\n  p50 ${text(of('p50'))} ms, p99 ${text(of('p99'))} ms (min / median / max)${verdict}`;
    })
    .join('\n');
}
