// The comparison of two commits as a table for the terminal.
import { spread } from './numbers.mjs';
import { compare, TOLERANCE } from './pairs.mjs';
import { scenarios } from './scenarios.mjs';
import { aligned, number } from './tables.mjs';

/** Per cent of the machine from which on others decide how fast anything is. */
const BUSY = 10;
const TOOLS = new Set(['load', 'endpoints']);

/** The rows of the table; CPU times too small for the clock's grain have no ratio and are left out. */
export function rowsOf({ names, scenarios: found, processes }) {
  const rows = [];
  for (const name of names) {
    const rounds = found[name];
    const add = (label, digits, valueOf, isRate) => rows.push(rowOf(name, label, digits, rounds, valueOf, isRate));
    for (const [key, { label, unit, digits }] of Object.entries(scenarios[name].figures))
      add(`${label}, ${unit}`, digits, ({ figures }) => figures[key], unit === '/s');
    for (const process of Object.keys(rounds[0][0][0].cpu)) {
      add(`CPU of ${process}${TOOLS.has(process) ? ' (the tool of both)' : ''}, ms`, 4, ({ cpu }) => cpu[process]);
    }
  }
  const perRound = processes.map((pair) => [pair]);
  for (const key of Object.keys(processes[0][0])) rows.push(rowOf('', key, 0, perRound, (values) => values[key]));
  return rows.filter(({ ratio }) => ratio.min > 0 && Number.isFinite(ratio.max));
}

/** `isRate` is given for what is judged: true where more is better, false where less is. */
function rowOf(scenario, label, digits, rounds, valueOf, isRate) {
  const found = compare(
    rounds.map((pairs) => pairs.map((pair) => pair.map(valueOf))),
    isRate,
  );
  return { scenario, label, digits, ...found, verdict: isRate === undefined ? '' : found.verdict };
}

const totals = (rounds, key) =>
  [0, 1].map((side) => rounds.flat().reduce((sum, pair) => sum + pair[side][key], 0)).join(' : ');

const three = ({ min, median, max }, digits) => [min, median, max].map((value) => number(value, digits)).join(' / ');

export function checkText(result) {
  const { commit, isSame, types, names, rounds, scale, machine, scenarios: found, idle, rows } = result;
  const table = [
    ['', 'figure', 'this tree: min / median / max', `${commit.slice(0, 10)}`, 'ratio', 'median within', ''],
    ...rows.map(({ scenario, label, digits, mine, other, ratio, range, verdict }) => [
      scenario,
      label,
      three(mine, digits),
      three(other, digits),
      three(ratio, 3),
      range === undefined ? '–' : `${number(range.low, 3)} – ${number(range.high, 3)}`,
      verdict,
    ]),
  ];
  const others = spread(
    Object.values(found)
      .flat(2)
      .flat()
      .map(({ othersShare }) => othersShare * 100),
  );
  return [
    names.map((name) => `${name}  ${scenarios[name].title}`).join('\n'),
    aligned(table),
    `this tree with ${types} event types against ${commit} with the built-in ones${isSame ? ': THE SAME CODE, so what differs from 1 is noise' : ''}
ratio: this tree ÷ the other, pair by pair, of ${rounds} rounds (pairs in each: ${names.map((name) => `${name} ${found[name][0].length}`).join(', ')})${scale === 1 ? '' : `, at ${scale} of the size`}
median within: where the rounds' median lies, at least 85 % sure; a verdict is about it and a tolerance of ${TOLERANCE * 100} %
lost, this tree : other: ${names.map((name) => `${name} ${totals(found[name], 'lost')}`).join(', ')}; came twice: ${names.map((name) => `${name} ${totals(found[name], 'repeats')}`).join(', ')}
others on this machine used ${three(others, 0)} % of it during the runs; the idle system ${three(spread(idle.map((share) => share * 100)), 0)} % of a core${
      others.median < BUSY
        ? ''
        : `
THE MACHINE WAS BUSY: rates and latencies tell more of the others than of the two sides, CPU times a little less so; measure again`
    }`,
    Object.entries(machine)
      .map(([name, text]) => `${name}: ${text}`)
      .join('\n'),
  ].join('\n\n');
}

/** Whether the check fails: slower for sure, or something lost that was accepted. */
export const hasFailed = ({ rows, scenarios: found }) =>
  rows.some(({ verdict }) => verdict === 'SLOWER') ||
  Object.values(found)
    .flat(2)
    .some(([mine]) => mine.lost > 0);
