import { type Operations, OperationsRefused } from '@relay/operations-client';
import type { Command } from 'commander';
import { stringify } from 'yaml';
import { operationsOf } from '../operations.js';
import { answer, counted, documented, documentedGroup, readFileOf, type Shell, table } from '../shell.js';
import { type DefinedTypes, definitionsIn, MAX_FILE_BYTES, segmentsOf, YamlFile } from './event-types-file.js';
import { webhooksIn } from './openapi-webhooks.js';

interface Options {
  readonly json?: boolean;
  readonly dryRun?: boolean;
  readonly prune?: boolean;
}
type Diff = Operations['applyEventTypes']['responses'][200];
type Definitions = Operations['applyEventTypes']['data']['body']['eventTypes'];

export function defineEventTypes(group: Command, shell: Shell): void {
  defineList(group.command('list'), shell);
  defineGet(group.command('get'), shell);
  defineApply(group.command('apply'), shell);
  defineArchive(group.command('archive'), shell);
  defineImport(group.command('import'), shell);
  documentedGroup(group, 'event-types apply -f event-types.yaml --dry-run');
}

function defineList(command: Command, shell: Shell): void {
  command
    .description('list the event types: the built-in ones, then those that were applied')
    .action(async (options: Options) => {
      const { eventTypes } = await operationsOf(shell).call('listEventTypes', {});
      const types = eventTypes.map(({ schema: _schema, sample: _sample, ...type }) => type);
      const rows = types.map(({ name, origin, revision, archived, description }) => {
        const state = archived ? 'archived' : 'active';
        return [name, origin, `revision ${revision}`, state, description];
      });
      answer(shell, options, types, [table(rows), counted(types.length, 'event type')].join('\n').trimStart());
    });
  documented(command, 'event-types list');
}

function defineGet(command: Command, shell: Shell): void {
  command
    .description('print an event type as a file that `event-types apply` reads')
    .argument('<name>', 'name of the event type')
    .action(async (name: string, options: Options) => {
      const type = await operationsOf(shell).call('readEventType', { path: { name } });
      const { name: _, origin, revision, archived, ...definition } = type;
      const comment = `# ${origin}, revision ${revision}, ${archived ? 'archived' : 'active'}`;
      answer(shell, options, type, `${comment}\n${stringify({ eventTypes: { [name]: definition } }).trimEnd()}`);
    });
  documented(command, 'event-types get order.paid');
}

function defineApply(command: Command, shell: Shell): void {
  command
    .description('bring event types to the definitions of a file; with any fault nothing changes')
    .requiredOption('-f, --file <file>', 'YAML or JSON with definitions by name in eventTypes; - for standard input')
    .option('--dry-run', 'print the changes, and change nothing')
    .option('--prune', 'archive all other applied event types')
    .action(({ file, ...options }: Options & { file: string }) => apply(shell, file, definitionsIn, options));
  documented(command, 'event-types apply -f event-types.yaml --dry-run');
}

function defineArchive(command: Command, shell: Shell): void {
  command
    .description('archive an event type: it takes no new envelope and no new webhook')
    .argument('<name>', 'name of the event type')
    .action(async (name: string, options: Options) => {
      await operationsOf(shell).call('archiveEventType', { path: { name } });
      answer(shell, options, { archived: name }, `archived ${name}`);
    });
  documented(command, 'event-types archive order.paid');
}

function defineImport(command: Command, shell: Shell): void {
  command
    .description('apply the webhooks of an OpenAPI 3.1 document as event types')
    .argument('<file>', 'the document in YAML or JSON; - for standard input')
    .option('--dry-run', 'print the changes, and change nothing')
    .action((file: string, options: Options) => apply(shell, file, webhooksIn, options));
  documented(command, 'event-types import openapi.yaml --dry-run');
}

async function apply(
  shell: Shell,
  file: string,
  typesIn: (source: YamlFile) => DefinedTypes | undefined,
  options: Options,
): Promise<void> {
  const [name, text] =
    file === '-'
      ? ['standard input', await shell.readInput()]
      : [file, readFileOf(shell, file, 'a file in YAML or JSON is expected, or -')];
  if (Buffer.byteLength(text) > MAX_FILE_BYTES) throw new Error(`${name} has more than ${MAX_FILE_BYTES} bytes`);
  const source = new YamlFile(text);
  const types = typesIn(source);
  try {
    const diff = types && (await diffOf(shell, source, types, options));
    if (diff !== undefined) return answer(shell, options, diff, linesOf(diff).join('\n'));
  } catch (error) {
    const { commands } = error instanceof OperationsRefused ? error.problem : {};
    if (commands === undefined) throw error;
    answer(shell, options, { commands }, commands.join('\n'));
    throw error;
  }
  const { faults } = source;
  if (options.json === true) shell.print(JSON.stringify({ faults }));
  for (const { line, column, detail } of faults) shell.note(`${name}:${line}:${column} ${detail}`);
  throw new Error(`nothing was changed: ${name} has ${counted(faults.length, 'fault')}`);
}

/** Applies the types. If the file has a fault, dry runs find the others. @returns undefined if the file has faults */
async function diffOf(
  shell: Shell,
  source: YamlFile,
  types: DefinedTypes,
  { dryRun = false, prune = false }: Options,
): Promise<Diff | undefined> {
  let left = Object.entries(types.eventTypes as Definitions);
  for (;;) {
    const isFaulty = source.faults.length > 0;
    try {
      const body = { eventTypes: Object.fromEntries(left), dryRun: dryRun || isFaulty, prune };
      const diff = await operationsOf(shell).call('applyEventTypes', { body });
      return isFaulty ? undefined : diff;
    } catch (error) {
      const { errors = [] } = error instanceof OperationsRefused ? error.problem : {};
      if (errors.length === 0 && !isFaulty) throw error;
      source.refuse(types, errors);
      // The operations app compares types with each other only if every member of them is well-formed.
      const refused = new Set(errors.map(({ pointer }) => segmentsOf(pointer)[1]));
      const others = left.filter(([name]) => !refused.has(name));
      if (others.length === left.length) return undefined;
      left = others;
    }
  }
}

function linesOf({ dryRun, changes }: Diff): string[] {
  const lines = changes.flatMap(({ name, change, revision, annotations, newest }) => {
    const detail = change === 'changed' ? ` (revision ${revision})` : '';
    const unchecked = annotations.length === 0 ? '' : `; nothing checks: ${annotations.join(', ')}`;
    return [`${dryRun ? 'would be ' : ''}${change} ${name}${detail}${unchecked}`, ...newestLines(newest)];
  });
  return lines.length === 0 ? ['The file defines no event type.'] : lines;
}

/** Returns lines about the newest records, judged by a changed schema. */
function newestLines(newest: Diff['changes'][number]['newest']): string[] {
  if (newest === undefined) return [];
  const { records, refused, reasons, incomplete } = newest;
  const why = { kafka: '; others could not be read: Kafka did not answer', limit: '; others would take too long' };
  const rest = incomplete === undefined ? '' : why[incomplete];
  return [
    `  refuses ${refused} of the newest ${counted(records, 'record')}${rest}`,
    ...reasons.map(({ pointer, detail }) => `    ${pointer} ${detail}`),
  ];
}
