import { deploymentName, RegistryCompaction, type Compaction } from '@relay/registry';
import type { Command } from 'commander';
import { logOf, withRegistry, withStores } from '../registry.adapter.js';
import { answer, counted, documented, documentedGroup, type Shell } from '../shell.js';
import { moveDeployment, type MoveReport } from './move.adapter.js';

export function defineRegistry(group: Command, shell: Shell): void {
  defineCompact(group.command('compact'), shell);
  defineMove(group.command('move'), shell);
  documentedGroup(group, 'registry compact');
}

function defineCompact(command: Command, shell: Shell): void {
  command
    .description('write a snapshot of clients and webhooks into the registry and delete its older records')
    .action(async (options: { json?: boolean }) => {
      const told = (_event: string, message: string): void => shell.note(`warning: ${message}`);
      const log = { ...logOf(told), warn: told };
      const outcome = await withRegistry(shell, ({ redis, registryLog, registry }) =>
        new RegistryCompaction(redis, registryLog, registry, log).compact(),
      );
      if (outcome.kind !== 'compacted' || !outcome.freed) shell.exitCode = 1;
      answer(shell, options, outcome, compactedText(outcome));
    });
  documented(command, 'registry compact');
}

function compactedText(outcome: Compaction): string {
  if (outcome.kind === 'compacted') {
    const what = `${counted(outcome.records, 'record')} replace everything before offset ${outcome.begin}`;
    return outcome.freed ? `${what}, which is gone.` : `${what}, which could not be deleted.`;
  }
  if (outcome.kind === 'refused') return `The snapshot ${outcome.reason}: nothing was deleted.`;
  if (outcome.kind === 'busy') return 'Another process is making a snapshot: nothing was done.';
  return 'Another process took this one for dead: nothing was deleted. Run the command again.';
}

function defineMove(command: Command, shell: Shell): void {
  command
    .description('move this Redis from the Kafka cluster or consumer group it belongs to, to those of the settings')
    .requiredOption('--from-cluster <id>', 'id of the Kafka cluster that Redis belongs to, `none` for one without')
    .option(
      '--leave-behind',
      'give up deliveries that still wait in the log of that cluster, and forget the ids seen, so that sources can repeat them',
    )
    .action(async (options: { fromCluster: string; leaveBehind?: boolean; json?: boolean }) => {
      const { fromCluster, leaveBehind = false } = options;
      const report = await withStores(shell, (stores) => moveDeployment(stores, fromCluster, leaveBehind));
      answer(shell, options, report ?? {}, movedText(report));
    });
  documented(command, 'registry move --from-cluster 5L6g3nShT-eMCtK--X86sw');
}

const movedText = (report: MoveReport | undefined): string =>
  report === undefined
    ? 'Redis belongs to this deployment already: nothing to do.'
    : `Moved from ${deploymentName(report.from)} to ${deploymentName(report.to)}: ${counted(report.records, 'record')} of the registry written, ${counted(report.leftBehind, 'webhook, replay or partition', 'webhooks, replays and partitions')} left behind. Start all roles.`;
