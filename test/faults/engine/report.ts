import { cpus, release, totalmem, type } from 'node:os';
import type { Fault, Outcome } from './fault.js';
import type { Entry } from './journal.js';
import { UNMARKED_MS } from './oracle.js';
import { OTHERS_PAUSE_MS } from './other-shards.js';
import { columnSum, rowsOf, seedsOf } from './page-rows.js';

export interface Line {
  readonly fault: Fault;
  readonly entries: readonly Entry[];
}

const sum = (outcomes: readonly Outcome[], of: (outcome: Outcome) => number): number =>
  outcomes.reduce((total, outcome) => total + of(outcome), 0);
const seconds = (ms: number): string => (ms / 1_000).toFixed(1);
const number = (value: number): string => value.toLocaleString('en');

function spread(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const [first, middle, last] = [sorted[0], sorted[Math.floor((sorted.length - 1) / 2)], sorted.at(-1)];
  if (first === undefined || middle === undefined || last === undefined) return '';
  return `${seconds(first)} / ${seconds(middle)} / ${seconds(last)}`;
}

const restarts = (outcomes: readonly Outcome[]): string => {
  const ended = sum(outcomes, (outcome) => outcome.ended);
  return ended === 0 ? '' : `, ${ended} ended by themselves`;
};

/** The figures of a fault over its runs, as they stand in the table. */
function cells({ fault, entries }: Line): string[] {
  const outcomes = entries.map(({ outcome }) => outcome);
  const duplicates = sum(outcomes, (outcome) => outcome.duplicates);
  const bound = sum(outcomes, (outcome) => outcome.allowed);
  const others = outcomes.flatMap(({ othersP99Ms }) => othersP99Ms ?? []);
  const calm = outcomes.flatMap(({ calmMs }) => calmMs ?? []);
  return [
    String(fault.row),
    fault.name,
    String(outcomes.length),
    [...new Set(entries.map(({ version }) => version))].join(' '),
    number(sum(outcomes, ({ accepted }) => accepted)),
    number(sum(outcomes, ({ owed }) => owed)),
    number(sum(outcomes, ({ delivered }) => delivered)),
    number(sum(outcomes, ({ dead }) => dead)),
    number(sum(outcomes, ({ lost }) => lost)),
    `${number(duplicates)} (≤ ${number(bound)})`,
    number(sum(outcomes, ({ repeated }) => repeated)),
    spread(outcomes.flatMap(({ recoveriesMs }) => recoveriesMs)),
    calm.length === 0 ? '' : seconds(Math.max(...calm)),
    others.length === 0 ? '' : number(Math.max(...others)),
    String(Math.max(0, ...outcomes.map(({ linesPerSecond }) => linesPerSecond))),
    String(Math.max(0, ...outcomes.map(({ heldUpMs }) => heldUpMs))),
    outcomes.every(({ failures }) => failures.length === 0) ? `held${restarts(outcomes)}` : 'FAILED',
  ];
}

const HEAD = [
  'row',
  'fault',
  'runs',
  'commit',
  'accepted',
  'deliveries owed',
  'delivered',
  'dead letters',
  'lost',
  'duplicates (bound)',
  'posts repeated',
  'recovered after, s (min / median / max)',
  'ingress calm after, s',
  'p99 of the other shards, ms',
  'log lines/s',
  'held up, ms',
  'promise',
];

export function textOf(lines: readonly Line[]): string {
  const rows = [HEAD, ...lines.map(cells)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => row.map((cell, column) => (cell ?? '').padEnd(widths[column] ?? 0)).join('  ')).join('\n');
}

/** A machine that does nothing else keeps nobody waiting for longer. */
const BUSY_MS = 250;

const firstLine = (text: string): string => text.split('\n')[0] ?? '';

/** docs/evidence/faults.md. @param page as it stands: a fault without a run keeps its row */
export function markdownOf(all: readonly Line[], seed: string, page: string): string {
  const kept = rowsOf(page, HEAD.length);
  const lines = all.filter(({ fault, entries }) => entries.length > 0 || kept.has(fault.name));
  const rows = lines.map((line) => (line.entries.length > 0 ? cells(line) : (kept.get(line.fault.name) ?? [])));
  const table = (body: readonly (readonly string[])[]): string =>
    body.map((row) => `| ${row.join(' | ')} |`).join('\n');
  const own = new Set(lines.flatMap(({ entries }) => entries.map(({ version }) => version)));
  const isWhole = lines.every(({ entries }) => entries.length > 0);
  const seeds = isWhole ? seed : `${seedsOf(page)}, at ${[...own].join(' and ')} ${seed}`;
  const rule = HEAD.map(() => '---');
  const processor = `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`;
  const memory = `${(totalmem() / 2 ** 30).toFixed(1)} GiB`;
  const failed = lines.flatMap(({ fault, entries }) =>
    entries.flatMap(({ run, outcome }) =>
      outcome.failures.map((failure) => `- ${fault.name}, run ${run}: ${firstLine(failure)}`),
    ),
  );
  const total = (title: string, from?: RegExp): string => number(columnSum(rows, HEAD.indexOf(title), from));
  return `# Faults

Accepted envelopes while processes, stores and networks fail. \`npm run test:faults\` writes this page: it repeats each fault with
real processes, a real Kafka and a real Redis, and compares the 202s that the source got with the answers of the endpoints and
the list of dead letters.

**${total('runs')} runs of ${lines.length} faults: ${total('accepted')} envelopes accepted, ${total('deliveries owed')} deliveries owed by them,
${total('delivered')} delivered, ${total('dead letters')} dead letters, ${total('lost')} lost, ${total('duplicates (bound)')} duplicates where ${total('duplicates (bound)', /≤ ([\d,]+)/)} were allowed.**

\`lost = deliveries owed − delivered − dead letters\`. A delivery counts as delivered when the endpoint has written its
2xx to a connection that was still there. A duplicate is one more request for a delivery that the endpoint has answered 2xx.

- Allowed duplicates: the attempts that ran at the fault plus those that no flush had marked (the last ${UNMARKED_MS} ms, and the time for which
  other work held up the endpoints); if Redis loses its latest writes, all deliveries since the last write that survived.
- Recovered after: from a kill to the first delivery of an interrupted attempt (a queued one waits until its lock expires), else
  from the return of the store to the first delivery.
- Ingress calm: until the 99th percentile of the 202s of a second is at most twice what it was before, or 250 ms.
- p99 of the other shards: row 19 strikes one of three shards, each on a primary of its own in a Redis Cluster of three primaries with a
  replica each. This is the 99th percentile from the 202 to the answer of an endpoint that never fails, of envelopes of the other two
  shards that were accepted from the moment of the fault until the struck shard delivered again. A run fails if the others deliver nothing for
  ${OTHERS_PAUSE_MS / 1_000} s, or if an envelope of theirs is delivered twice. The primary of shard 2 also has what is global, for which all shards wait:
  \`cluster-global-…\` strikes it, the other faults strike 0 or 1.
- Log lines: the most that one process wrote within a second; more than 100 fail a run.
- A process that ends because its consumer cannot continue is started again, as a supervisor does; the verdict has the number.

${Math.max(...rows.map((row) => columnSum([row], HEAD.indexOf('held up, ms')))) > BUSY_MS ? 'Other work shared the machine during these runs, so their times are not reliable. ' : ''}Held up: the longest time for which other work on the machine kept the endpoints from running. Beyond some 100 ms the
times of that row say more about the machine than about the relay.

The load: four event types over two partitions each, 100 envelopes a second. One endpoint fails or resets a fifth of its requests,
one takes 50 to 400 ms, one answers 410 to a tenth and is enabled by its partner half a second later. Attempts, retries and dead
letters therefore exist at every moment.

${table([HEAD, rule, ...rows])}

${failed.length === 0 ? '' : `Not held:\n\n${failed.join('\n')}\n`}
| fault | what is done |
| --- | --- |
${lines.map(({ fault }) => `| ${fault.name} | ${fault.does} |`).join('\n')}

Machine: ${processor}, ${memory}, ${type()} ${release()}, Node ${process.version}. Each row names the tested commit. Seed ${seeds} (each run's is
\`${seed}:<fault>:<run>\`). One run again: \`npm run test:faults -- --only <fault> --seed ${seed} --fresh\`. \`--sabotage\` runs the suite on
variants that are broken on purpose and fails unless each is caught.
`;
}
