// npm run bench -- curves|isolation|limits|pages: figures of the built relay that are published once and are no part of `npm run bench`.
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { requireProc } from '../scripts/bench/proc.mjs';
import { endLeftRoles } from '../scripts/bench/trees.mjs';
import { build } from '../scripts/lib/build.mjs';
import { discard, privateHome, sweep } from '../scripts/lib/private-home.mjs';
import { Fault, script } from '../scripts/lib/process.mjs';
import { curves } from './bench/curves.mjs';
import { isolation } from './bench/isolation.mjs';
import { limits } from './bench/limits.mjs';
import { pages } from './bench/pages.mjs';

const USAGE = `usage: npm run bench -- curves [--drain N] [--write] [--json FILE] [--scale 0.1]
       npm run bench -- isolation [--runs N]
       npm run bench -- limits [--runs N] [--scale 0.1]
       npm run bench -- pages [--runs N] [--scale 0.1]
  curves  what a delivery costs by webhooks (10 to 10,000), by rate, by processes and when it lay in the log, one run a point;
          --drain N (100,000) records lie there. 15 minutes; --write puts it into docs/evidence
  isolation  what healthy endpoints feel of bad ones
  limits  what the machine allows at most, and what a seen id and a waiting delivery take in Redis
  pages   how soon portal and console are there, how a list of 100,000 deliveries is read, and the memory that serving them takes`;
const TASKS = { curves, isolation, limits, pages };
const text = { type: 'string' };
const own = privateHome('bench');

await script(async (signal) => {
  const { values, positionals } = parseArgs({
    options: { runs: text, scale: text, drain: text, json: text, write: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const task = TASKS[positionals[0]];
  const numbers = { runs: 3, scale: 1, drain: 100_000 };
  for (const name of Object.keys(numbers)) if (values[name] !== undefined) numbers[name] = Number(values[name]);
  if (task === undefined || !Object.values(numbers).every((number) => number > 0)) throw new Fault(USAGE);
  requireProc();
  const ends = []; // cleanup, the latest first
  try {
    await build(signal);
    await endLeftRoles();
    await sweep('bench');
    ends.push(() => discard(own));
    const aborted = once(signal, 'abort').then(() => signal.throwIfAborted());
    return await Promise.race([aborted, task(own, { ...values, ...numbers }, signal, ends)]);
  } finally {
    for (const end of ends.toReversed()) await end();
  }
});
