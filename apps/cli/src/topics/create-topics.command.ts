import { createTopics } from '@relay/kafka';
import type { Command } from 'commander';
import { withKafka } from '../connections.adapter.js';
import { documented } from '../documented.js';
import { answer, type Shell } from '../shell.js';
import { counted } from '../table.js';

export function defineCreateTopics(group: Command, shell: Shell): void {
  const command = group
    .command('create')
    .description('create the missing topics; existing topics stay unchanged')
    .action(async (options: { json?: boolean }) => {
      const created = await withKafka(shell, (kafka, settings) => createTopics(kafka, settings));
      const text = created.length === 0 ? 'All topics are there.' : `${counted(created.length, 'topic')} created.`;
      answer(shell, options, { created }, text);
    });
  documented(command, 'topics create');
}
