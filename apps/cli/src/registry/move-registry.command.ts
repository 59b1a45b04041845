import { deploymentName } from '@relay/registry';
import type { Command } from 'commander';
import { withKafka, withRedis } from '../connections.adapter.js';
import { documented } from '../documented.js';
import { logOf, withRegistryLog } from '../registry.adapter.js';
import { assertStopped } from '../reshard/stopped.adapter.js';
import { answer, type Shell } from '../shell.js';
import { counted } from '../table.js';
import { moveDeployment, type MoveReport } from './move.adapter.js';

interface Options {
  readonly fromCluster: string;
  readonly leaveBehind?: boolean;
  readonly json?: boolean;
}

export function defineMoveRegistry(group: Command, shell: Shell): void {
  const command = group
    .command('move')
    .description('move this Redis from the Kafka cluster or consumer group it belongs to, to those of the settings')
    .requiredOption('--from-cluster <id>', 'id of the Kafka cluster that Redis belongs to, `none` for one without')
    .option(
      '--leave-behind',
      'give up deliveries that still wait in the log of that cluster, and forget the ids seen, so that sources can repeat them',
    )
    .action(async (options: Options) => {
      const log = logOf((_event, message) => shell.note(`warning: ${message}`));
      const report = await withRedis(shell, (redis, shards) =>
        withKafka(shell, (kafka, settings) =>
          withRegistryLog({ kafka, settings, log }, (registryLog, publisher) =>
            moveDeployment(
              {
                redis,
                shards,
                kafka,
                publisher,
                registryLog,
                settings,
                log,
                assertStopped: () => assertStopped(shards, kafka, settings),
              },
              options.fromCluster,
              options.leaveBehind === true,
            ),
          ),
        ),
      );
      answer(shell, options, report ?? {}, textOf(report));
    });
  documented(command, 'registry move --from-cluster 5L6g3nShT-eMCtK--X86sw');
}

const textOf = (report: MoveReport | undefined): string =>
  report === undefined
    ? 'Redis belongs to this deployment already: nothing to do.'
    : `Moved from ${deploymentName(report.from)} to ${deploymentName(report.to)}: ${counted(report.records, 'record')} of the registry written, ${counted(report.leftBehind, 'webhook, replay or partition', 'webhooks, replays and partitions')} left behind. Start all roles.`;
