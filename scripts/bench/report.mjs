// The result as a table for the terminal, and as docs/evidence/performance.md.
import { scenarios, WARM_UP } from './scenarios.mjs';
import { aligned, listOf, markdownTable, number } from './tables.mjs';

const goalText = (goal, digits) =>
  goal ? (goal.atLeast ? `≥ ${number(goal.atLeast, digits)}` : `≤ ${number(goal.atMost, digits > 2 ? 2 : 0)}`) : '';

/** Whether a median reaches its goal; '' without one. */
function verdictOf(goal, median) {
  if (!goal) return '';
  return (goal.atLeast ? median >= goal.atLeast : median <= goal.atMost) ? 'met' : 'missed';
}

/** Goal of the check of a 2 KiB payload by the schema of an applied event type, in µs. */
const CHECK_GOAL = { atMost: 10 };

function figureRows(result) {
  const rows = [['', 'measured', 'min', 'median', 'max', 'goal', '']];
  for (const [name, { figures, lost, repeats }] of Object.entries(result.scenarios)) {
    for (const [key, { label, unit, digits, goal }] of Object.entries(scenarios[name].figures)) {
      const { min, median, max } = figures[key];
      const shown = [min, median, max].map((value) => number(value, digits));
      rows.push([name, unit ? `${label}, ${unit}` : label, ...shown, goalText(goal, digits), verdictOf(goal, median)]);
    }
    rows.push([
      name,
      'lost / came twice, over all runs',
      '',
      `${lost} / ${repeats}`,
      '',
      '0 / –',
      lost === 0 ? 'met' : 'missed',
    ]);
  }
  const { min, median, max } = result.checkUs;
  const shown = [min, median, max].map((value) => number(value, 1));
  const label = 'CPU of the check of a 2 KiB payload by its JSON Schema, µs';
  rows.push(['–', label, ...shown, goalText(CHECK_GOAL, 1), verdictOf(CHECK_GOAL, median)]);
  return rows;
}

function cpuRows(result) {
  const names = [...new Set(Object.values(result.scenarios).flatMap(({ cpu }) => Object.keys(cpu)))];
  const rows = [['', 'CPU ms for each', ...names]];
  for (const [name, { cpu }] of Object.entries(result.scenarios)) {
    const unit = scenarios[name].hooks === 0 ? 'envelope' : 'delivery';
    rows.push([name, unit, ...names.map((of) => (cpu[of] ? number(cpu[of].median, 3) : '–'))]);
  }
  return rows;
}

function processRows({ processes }) {
  const cell = (value, digits) => (value === undefined ? '–' : number(value, digits));
  const rows = Object.entries(processes).map(([name, { startMs, idleMiB, afterMiB }]) => [
    name,
    cell(startMs, 0),
    cell(idleMiB, 0),
    cell(afterMiB, 0),
  ]);
  return [['process', 'start to ready, ms', 'RSS idle, MiB', 'RSS after the runs, MiB'], ...rows];
}

export function textOf(result) {
  const titles = Object.keys(result.scenarios).map((name) => `${name}  ${scenarios[name].title}`);
  const tables = [figureRows(result), cpuRows(result), processRows(result)];
  return [titles.join('\n'), ...tables.map(aligned)].join('\n\n');
}

export function markdownOf(result) {
  return `# Performance

Written by \`npm run bench -- --write\`; edits by hand are lost. All processes are real and measured from outside: the load
tool and the endpoints are processes of their own, CPU time is utime + stime of \`/proc/<pid>/stat\`. Each row is the
spread over ${result.runs} runs; goals are held against the median. Every run counts accepted envelopes against receipts: what is
missing is lost. A warm-up of ${number(WARM_UP.count, 0)} envelopes with one webhook comes first, until the code is compiled.

${listOf(Object.fromEntries(Object.keys(result.scenarios).map((name) => [`**${name}**`, scenarios[name].title])))}

Measured ${result.measuredOn} on

${listOf(result.machine)}

with

${listOf(result.settings)}

\`npm run bench -- --check REV\` compares this work tree with another commit; \`--help\` says how it judges.

## Throughput and latency

${markdownTable(figureRows(result))}

[Limits](limits.md) has what the same machine allows, and the bytes that Redis takes. [Curves](curves.md) show the cost by webhooks,
by rate, by processes and of catching up.

## CPU by process

Medians; \`load\` and \`endpoints\` are the tools, not the relay.

${markdownTable(cpuRows(result))}

## Memory and start

${markdownTable(processRows(result), 1)}

\`npm run bench -- --profile ingress\` shows where the time of a process goes.
`;
}
