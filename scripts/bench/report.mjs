// The result as a table for the terminal, and as docs/evidence/performance.md.
import { againstLimits, limitTitles } from './limits.mjs';
import { scenarios, WARM_UP } from './scenarios.mjs';
import { aligned, listOf, markdownTable, number } from './tables.mjs';

const goalText = (goal, digits) =>
  goal ? (goal.atLeast ? `≥ ${number(goal.atLeast, digits)}` : `≤ ${number(goal.atMost, digits > 2 ? 2 : 0)}`) : '';

/** Whether a median reaches its goal; figures without one always do. */
export const isMet = (goal, { median }) => !goal || (goal.atLeast ? median >= goal.atLeast : median <= goal.atMost);
const verdictOf = (goal, median) => (goal ? (isMet(goal, { median }) ? 'met' : 'missed') : '');

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

const LIMIT_FIGURES = {
  perSecond: ['/s', 0],
  cpuMs: ['CPU, ms', 3],
  kafkaMs: ['CPU of its Kafka, ms', 3],
  p50: ['p50, ms', 2],
  p99: ['p99, ms', 2],
};

function limitRows({ limits }) {
  const rows = [['limit', 'measured', 'min', 'median', 'max']];
  for (const [name, figures] of Object.entries(limits)) {
    for (const [key, { min, median, max }] of Object.entries(figures)) {
      const [label, digits] = LIMIT_FIGURES[key];
      rows.push([name, label, number(min, digits), number(median, digits), number(max, digits)]);
    }
  }
  return rows;
}

const ratioRows = (result) => [
  ['', 'ours ÷ limit, of medians', 'ours', 'limit', 'ratio', 'goal', ''],
  ...againstLimits(result).map(({ name, label, ours, limit, ratio, goal }) => {
    const digits = limit > 100 ? 0 : limit > 1 ? 1 : 3;
    const bound = goal ? `${goal.atLeast ? '≥' : '≤'} ${number(goal.atLeast ?? goal.atMost, 2)}` : '';
    return [name, label, number(ours, digits), number(limit, digits), number(ratio, 2), bound, verdictOf(goal, ratio)];
  }),
];

/** Step by step, µs of CPU for a delivery of scenario b beside the limit that does the same step. */
function budgetRows({ scenarios: { b }, limits: { log, post } }) {
  const steps = [
    ['accept an envelope', 'ingress', log.cpuMs.median, 'log limit'],
    ['store it, and hand it to the worker', 'kafka', log.kafkaMs.median, 'Kafka of the log limit'],
    ['match, sign, post, report', 'worker', post.cpuMs.median, 'post limit'],
    ['remember ids, progress and history', 'redis', undefined, 'no limit has a Redis'],
  ];
  const us = (ms) => number(ms * 1000, 0);
  const rows = steps.map(([step, process, limit, of]) => [
    step,
    process,
    us(b.cpu[process].median),
    limit ? us(limit) : '–',
    of,
  ]);
  const limit = steps.reduce((sum, [, , ms = 0]) => sum + ms, 0);
  return [
    ['step', 'process', 'µs for a delivery', 'limit', 'by'],
    ...rows,
    ['all', '', us(b.figures.cpuMs.median), us(limit), 'log limit, its Kafka and post limit'],
  ];
}

export const limitLines = (limits) =>
  Object.keys(limits).map((name) => {
    const figures = Object.entries(limits[name]).map(
      ([key, { median }]) => `${LIMIT_FIGURES[key][0]} ${number(median, LIMIT_FIGURES[key][1])}`,
    );
    return `${name} limit  ${figures.join('; ')}`;
  });

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

const seenRows = ({ seenIds }) => [
  ['ids a day', 'bytes an id, first two days', 'bytes an id, second day'],
  ...seenIds.map(({ perDay, bytesPerId, bytesPerIdLater }) => [
    number(perDay, 0),
    number(bytesPerId, 1),
    number(bytesPerIdLater, 1),
  ]),
];

const waitingRows = ({ waitingJobs }) => [
  ['bytes of the envelope', 'webhooks it waits for', 'bytes a waiting delivery'],
  ...waitingJobs.map(({ bytes, webhooks, bytesEach }) => [bytes, webhooks, bytesEach].map((value) => number(value, 0))),
];

export function textOf(result) {
  const titles = Object.keys(result.scenarios).map((name) => `${name}  ${scenarios[name].title}`);
  const tables = [figureRows(result), limitRows(result), ratioRows(result), cpuRows(result), processRows(result)];
  if ('b' in result.scenarios) tables.push(budgetRows(result));
  if (result.seenIds) tables.push(seenRows(result), waitingRows(result));
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

## Two commits

\`npm run bench -- --check REV\` compares this work tree with another commit. Each round starts both with stores of their own, warms them
up, and loads them in turn, piece by piece; each figure is a ratio of two runs that are seconds apart. The verdict is about the rounds' median and 3 %:
\`SLOWER\` and \`no slower\` are sure (sign test, 85 % or more on both sides together), \`unclear\` asks for more rounds or an idle machine.
\`--check HEAD\` without changes shows the noise.

## Throughput and latency

${markdownTable(figureRows(result))}

## Against what the machine allows

Measured just before on the same machine, each after a warm-up of its own, with the same load tool, bodies, topic settings and endpoint. A
machine differs from itself on another day by more than a change of the code is worth; these ratios do not.

${listOf(Object.fromEntries(Object.entries(limitTitles).map(([name, title]) => [`**${name} limit**`, title])))}

${markdownTable(limitRows(result))}

${markdownTable(ratioRows(result))}

## Budget of a delivery

Where the CPU time of scenario b goes, beside the least that the same step took on this machine in the same minutes. Kafka and
Redis serve every step, so theirs is one row each.

${markdownTable(budgetRows(result))}

[Curves](curves.md) show the cost by webhooks, by rate, by processes and of catching up.

## CPU by process

Medians; \`load\` and \`endpoints\` are the tools, not the relay.

${markdownTable(cpuRows(result))}

## Memory and start

${markdownTable(processRows(result), 1)}

## Redis for seen ids

\`used_memory\` of a Redis of its own, ids marked by the store's own adapter, evenly over two days; goal: ≤ 40 bytes an id.

${markdownTable(seenRows(result), 0)}

## Redis for waiting deliveries

The same way; a body over 4 KiB is stored once for all deliveries of its envelope.

${markdownTable(waitingRows(result), 0)}

\`npm run bench -- --profile ingress\` shows where the time of a process goes.
`;
}
