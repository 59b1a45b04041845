// The options of the command line.
import { parseArgs } from 'node:util';
import { Fault } from '../lib/process.mjs';
import { scenarios } from './scenarios.mjs';
import { BUILT_IN_TYPES } from './system.mjs';

const usage = `usage: npm run bench -- [--runs N] [--only a,b,c,d] [--scale 0.1] [--types N] [--json FILE] [--write] [--profile ingress|worker]
       npm run bench -- --check REV [--only a,b,c,d] [--rounds N] [--scale 0.1] [--types N] [--json FILE]
${Object.entries(scenarios)
  .map(([name, { title }]) => `  ${name.padEnd(10)} ${title}`)
  .join('\n')}
Instead:
  --check    this work tree against commit REV, loaded in turn and never at once, --rounds (5) times with new processes: every figure of
             both sides and the ratio, pair by pair. Exit code 1 when a figure is more than 3 % slower for sure or something was lost;
             "unclear" is no pass but a machine too busy or too few rounds. --check HEAD without changes shows the noise. b and c take 5 minutes a round
Options:
  --only     these scenarios
  --scale    that share of the envelopes, warm-up included: for trying out the bench, its figures are no measure
  --types    so many event types, of which 14 are built in; with --check only this work tree has more than these
  --write    puts the result into docs/evidence/performance.md
  --profile  one run with that process under --cpu-prof, and where its time went
  --json     the result with every run goes there, else to .relay/bench.json or .relay/check.json`;

export function readOptions(args) {
  const { runs, only, scale, types, json, write, profile, help, check, rounds } = parse(args);
  if (help) {
    console.log(usage);
    process.exit();
  }
  const usual = { ingress: 'a', worker: 'b' }[profile] ?? Object.keys(scenarios).join();
  const options = {
    runs: profile ? 1 : Number(runs ?? 3),
    rounds: Number(rounds ?? 5),
    scale: Number(scale ?? 1),
    types: Number(types ?? BUILT_IN_TYPES),
    names: (only ?? usual).split(','),
    rev: check,
    json,
    write,
    profile,
  };
  const isKnown = options.names.every((name) => name in scenarios);
  const isCount = (number) => Number.isInteger(number) && number > 0;
  const hasTypes = isCount(options.types) && options.types >= BUILT_IN_TYPES;
  const isSane = [options.runs, options.rounds].every(isCount) && hasTypes && options.scale > 0 && options.scale <= 1;
  if (!isKnown || !isSane || ![undefined, 'ingress', 'worker'].includes(profile)) throw new Fault(usage);
  if (check === undefined ? rounds : runs || write || profile)
    throw new Fault('--check takes --only, --rounds, --scale, --types and --json; --rounds goes with --check');
  if (write && (only || profile || types || options.scale !== 1))
    throw new Fault('--write takes all scenarios at full size, with the built-in event types');
  return options;
}

function parse(args) {
  const text = { type: 'string' };
  const flag = { type: 'boolean', default: false };
  const options = {
    runs: text,
    rounds: text,
    only: text,
    scale: text,
    types: text,
    json: text,
    check: text,
    write: flag,
    profile: text,
    help: flag,
  };
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new Fault(`${error.message}\n${usage}`);
  }
}
