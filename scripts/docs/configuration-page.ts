import { isSecret } from '@relay/config';
import { commandLineEnv, IngressEnv, OperationsEnv, WorkerEnv } from '@relay/settings';
import type { z } from 'zod';
import { defaultOf, meaningOf, valuesOf } from './field-facts.js';

type Field = z.ZodType;

/** The environment of each process, as the process parses it. */
const PROCESSES: Readonly<Record<string, Readonly<Record<string, Field>>>> = {
  ingress: IngressEnv.shape,
  worker: WorkerEnv.shape,
  operations: OperationsEnv.shape,
  relay: commandLineEnv,
};

const HEAD = `# Configuration

Every process is configured by environment variables. All faults are printed at once, by name and without a value, in
one line of JSON (\`configuration.wrong\`), and the process ends with exit code 1. Percent-encode a password in a URL.
An empty variable counts as not set. Durations are written \`500ms\`, \`15s\`, \`5m\`, \`72h\` or \`7d\`.

A variable marked _secret_ can also be given as \`NAME_FILE\`, the path of a file that holds it, such as
\`REDIS_URL_FILE=/run/secrets/redis-url\`; both at once is a fault. \`relay\` is the command line; each of its commands
reads only the variables that it needs. Set exactly one of \`REDIS_URL\`, \`REDIS_SENTINELS\` and \`REDIS_CLUSTER_NODES\`.

This page is written by \`npx node scripts/docs.mjs\` from the schemas that the processes parse; a spec keeps it in step.
`;

/** docs/configuration.md: one row for each variable that means the same everywhere it is read. */
export function configurationPage(): string {
  const rows = new Map<string, { cells: string[]; readers: string[] }>();
  for (const [process, shape] of Object.entries(PROCESSES)) {
    for (const [name, field] of Object.entries(shape)) {
      const isKept = isSecret(field) ? 'secret' : '';
      const cells = [`\`${name}\``, defaultOf(field), isKept, valuesOf(field), meaningOf(field)];
      const known = rows.get(cells.join('|'));
      if (known === undefined) rows.set(cells.join('|'), { cells, readers: [process] });
      else known.readers.push(process);
    }
  }
  const lines = [...rows.values()].map(({ cells, readers }) => cells.toSpliced(1, 0, readers.join(', ')));
  return `${HEAD}\n${markdownTable([['variable', 'read by', 'default', '', 'values', 'meaning'], ...lines])}\n`;
}

/** A table as the formatter writes it: every column as wide as its widest cell. */
function markdownTable([head = [], ...rows]: readonly (readonly string[])[]): string {
  const widths = head.map((_, at) => Math.max(3, ...[head, ...rows].map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, at) => (cells[at] ?? '').padEnd(width)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
