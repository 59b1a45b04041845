// What the command line says.
import { parseArgs } from 'node:util';
import { Fault } from '../lib/process.mjs';
import { scenarios } from './scenarios.mjs';

const usage = `usage: npm run bench -- [api|isolation|parking|replay] [--runs N] [--only a,b,c,d,e] [--scale 0.1] [--json FILE] [--write] [--profile ingress|worker]
${Object.entries(scenarios)
  .map(([name, { title }]) => `  ${name}  ${title}`)
  .join('\n')}
  api        instead: how soon the management API answers (takes --runs)
  isolation  instead: what healthy endpoints feel of bad ones (takes --runs)
  parking    instead: what a webhook that is away for 1,000,000 envelopes costs Redis (takes --scale)
  replay     instead: what live deliveries feel of a replay of 20,000 (takes --runs)
  --only     these scenarios, and not what Redis takes
  --write    puts the result into docs/performance.md
  --profile  one run with that process under --cpu-prof, and where its time went`;

export function readOptions(args) {
  const { values, positionals } = parse(args);
  const { runs, only, scale, json, write, profile, help } = values;
  if (help) throw new Fault(usage);
  const usual = { ingress: 'a', worker: 'b' }[profile] ?? Object.keys(scenarios).join();
  const options = {
    runs: profile ? 1 : Number(runs ?? 3),
    scale: Number(scale ?? 1),
    names: (only ?? usual).split(','),
    instead: ['api', 'isolation', 'parking', 'replay'].find((name) => name === positionals[0]),
    redis: only === undefined,
    json,
    write,
    profile,
  };
  if (positionals.length > (options.instead === undefined ? 0 : 1)) throw new Fault(usage);
  const isKnown = options.names.every((name) => name in scenarios);
  const isSane = Number.isInteger(options.runs) && options.runs > 0 && options.scale > 0 && options.scale <= 1;
  if (!isKnown || !isSane || ![undefined, 'ingress', 'worker'].includes(profile)) throw new Fault(usage);
  if (write && (only || profile || options.scale !== 1)) throw new Fault('--write takes all scenarios at full size');
  return options;
}

function parse(args) {
  const text = { type: 'string' };
  const flag = { type: 'boolean', default: false };
  const options = { runs: text, only: text, scale: text, json: text, write: flag, profile: text, help: flag };
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw new Fault(`${error.message}\n${usage}`);
  }
}
