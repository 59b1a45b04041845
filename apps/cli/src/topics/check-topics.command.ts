import { checkTopicConfigs, checkTopics } from '@relay/kafka';
import type { Command } from 'commander';
import { withKafka } from '../connections.adapter.js';
import { documented } from '../documented.js';
import { answer, type Shell } from '../shell.js';

export function defineCheckTopics(group: Command, shell: Shell): void {
  const command = group
    .command('check')
    .description('name each topic that is missing or does not fit the settings, with its fix')
    .action(async (options: { json?: boolean }) => {
      const faults = await withKafka(shell, async (kafka, settings) => [
        ...(await checkTopics(kafka, settings)),
        ...(await checkTopicConfigs(kafka, settings)),
      ]);
      if (faults.length > 0) shell.exitCode = 1;
      answer(shell, options, { faults }, faults.length === 0 ? 'All topics are there and fit.' : faults.join('\n'));
    });
  documented(command, 'topics check');
}
