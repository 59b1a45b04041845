// The curves as tables for the terminal, as docs/evidence/curves.md and as its picture.
import { svgOf } from './chart.mjs';
import { aligned, listOf, markdownTable, number } from '../../scripts/bench/tables.mjs';

const ROLES = ['ingress', 'worker', 'kafka', 'redis'];
const microseconds = (ms) => number(ms * 1000, 0);

function rowsOf(what, points) {
  const hasTimes = points.some(({ p50 }, index) => index > 0 && p50 !== undefined);
  return [
    [what, '/s', ...ROLES, 'all', ...(hasTimes ? ['p50, ms', 'p99, ms'] : []), 'jobs', 'lost / twice'],
    ...points.map(({ title, perSecond, cpu, cpuMs, p50, p99, jobs, lost, repeats }) => [
      title,
      number(perSecond, 0),
      ...ROLES.map((role) => (cpu[role] === undefined ? '–' : microseconds(cpu[role]))),
      microseconds(cpuMs),
      ...(hasTimes ? [number(p50, 1), number(p99, 1)] : []),
      jobs === undefined ? '–' : number(jobs, 0),
      `${lost} / ${repeats ?? 0}`,
    ]),
  ];
}

const SECTIONS = [
  {
    key: 'ofOthers',
    title: 'By the number of webhooks of another event type',
    text: `One webhook gets every envelope, at saturation; so many others are registered for a type that nobody sends meanwhile. They belong
to ten partners. p50 and p99 are of a run at 200/s.`,
    what: 'others',
  },
  {
    key: 'ofOneType',
    title: 'By the number of webhooks of the one event type',
    text: `Every envelope goes to all of them, at saturation. They belong to ten partners, which have one endpoint each. p50 and p99 are those
of the webhook registered first.`,
    what: 'webhooks',
  },
  {
    key: 'rates',
    title: 'By the rate',
    text: 'One webhook, 15 s at each rate. At saturation the load tool sends the next envelope when one of 64 is answered.',
    what: 'rate',
  },
  {
    key: 'processes',
    title: 'By the number of processes',
    text: 'One webhook, at saturation. All processes share the cores: more of them show what they cost, not what they could carry.',
    what: 'ingresses + workers',
  },
  {
    key: 'draining',
    title: 'Catching up',
    text: `One webhook. The log is filled while no worker runs; then new workers drain it, measured once they are warm. Keeping up accepts and
delivers at once: it is to be held against filling and draining together.`,
    what: 'state',
  },
];

const OWN_SETTINGS = { relay: 'built code, default settings but for the quotas of registering, dedupe on' };

/** Filling and draining together, per number of workers. */
const together = ([keepingUp, ...pairs]) =>
  Array.from({ length: pairs.length / 2 }, (_, index) => {
    const [filling, draining] = pairs.slice(index * 2);
    const cpuMs = filling.cpuMs + draining.cpuMs;
    return { title: draining.title.replace('draining it, ', ''), cpuMs, ratio: cpuMs / keepingUp.cpuMs };
  });

const verdicts = (result) => [
  ...together(result.draining).map(
    ({ title, cpuMs, ratio }) =>
      `filling and draining, ${title}: ${microseconds(cpuMs)} µs for each delivery, ${number(ratio, 2)} × keeping up`,
  ),
  `p99 at saturation ÷ p99 at ${result.rates.at(-2).title}: ${number(result.rates.at(-1).p99 / result.rates.at(-2).p99, 1)}`,
  `CPU for each delivery beside ${result.ofOthers.at(-1).title} webhooks ÷ beside ${result.ofOthers[0].title}: ${number(result.ofOthers.at(-1).cpuMs / result.ofOthers[0].cpuMs, 2)}`,
];

export function textOf(result) {
  const tables = SECTIONS.map(({ key, title, what }) => `${title}\n${aligned(rowsOf(what, result[key]))}`);
  return [...tables, verdicts(result).join('\n')].join('\n\n');
}

export function markdownOf(result) {
  const sections = SECTIONS.map(
    ({ key, title, text, what }) => `## ${title}\n\n${text}\n\n${markdownTable(rowsOf(what, result[key]), 1)}`,
  );
  return `# What a delivery costs

Written by \`npm --prefix lab run bench -- curves --write\`; edits by hand are lost. CPU time is µs for each delivery, by process and of all; when the log
is filled, for each envelope. Each row is one run after a warm-up. What was accepted and never came is lost.

![CPU time of a delivery by webhooks, rate and processes, and its latency by rate](images/curves.svg)

${verdicts(result)
  .map((line) => `- ${line}`)
  .join('\n')}

${sections.join('\n\n')}

Measured ${result.measuredOn} on

${listOf(result.machine)}

with

${listOf({ ...result.settings, ...OWN_SETTINGS, 'catching up': `${number(result.records, 0)} records after the warm-up` })}
`;
}

export function chartOf({ ofOthers, ofOneType, rates, processes, draining }) {
  const titles = (points) => points.map(({ title }) => title.replace('/s', '').replace('saturation', 'max'));
  const cpuOf = (points, role) => points.map(({ cpu, cpuMs }) => (role ? cpu[role] : cpuMs) * 1000);
  const caughtUp = together(draining);
  return svgOf('What a delivery costs', [
    {
      title: 'CPU of a delivery by webhooks, µs',
      axis: 'registered webhooks',
      labels: titles(ofOthers),
      series: [
        { name: 'of other types', values: cpuOf(ofOthers) },
        { name: 'of the one type', values: cpuOf(ofOneType) },
      ],
    },
    {
      title: 'CPU of a delivery by rate, µs',
      axis: 'deliveries a second',
      labels: titles(rates),
      series: [
        { name: 'relay and stores', values: cpuOf(rates) },
        { name: 'worker alone', values: cpuOf(rates, 'worker') },
      ],
    },
    {
      title: 'POST to receipt by rate, ms',
      axis: 'deliveries a second',
      labels: titles(rates),
      series: [
        { name: 'p50', values: rates.map(({ p50 }) => p50) },
        { name: 'p99', values: rates.map(({ p99 }) => p99) },
      ],
    },
    {
      title: 'CPU of a delivery by processes, µs',
      axis: 'ingresses + workers; from a filled log to 1, 2 workers',
      labels: [...titles(processes), ...caughtUp.map((_, index) => `log ${index + 1}`)],
      series: [{ values: [...cpuOf(processes), ...caughtUp.map(({ cpuMs }) => cpuMs * 1000)] }],
      bars: true,
    },
  ]);
}
