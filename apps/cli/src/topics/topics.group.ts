import { TOPIC_CONDITIONS } from '@relay/doctor';
import { createTopics, findTopics, readTopicConfigs, topicNotes, withAdmin } from '@relay/kafka';
import type { Command } from 'commander';
import { answer, counted, documented, documentedGroup, type Shell } from '../shell.js';
import { withKafka } from '../stores.adapter.js';

export function defineTopics(group: Command, shell: Shell): void {
  defineCreate(group.command('create'), shell);
  defineCheck(group.command('check'), shell);
  documentedGroup(group, 'topics create');
}

function defineCreate(command: Command, shell: Shell): void {
  command
    .description('create the missing topics; existing topics stay unchanged')
    .action(async (options: { json?: boolean }) => {
      const created = await withKafka(shell, (kafka, settings) => createTopics(kafka, settings));
      const text = created.length === 0 ? 'All topics are there.' : `${counted(created.length, 'topic')} created.`;
      answer(shell, options, { created }, text);
    });
  documented(command, 'topics create');
}

function defineCheck(command: Command, shell: Shell): void {
  command
    .description('name each topic that is missing or does not fit the settings, with its fix')
    .action(async (options: { json?: boolean }) => {
      const { faults, notes } = await withKafka(shell, (kafka, settings) =>
        withAdmin(kafka, async (admin) => {
          const [found, configs] = [await findTopics(admin, settings), await readTopicConfigs(admin, settings)];
          const broken = TOPIC_CONDITIONS.flatMap((condition) => condition.broken({ settings, found, configs }));
          return { faults: broken.map(({ text, fix }) => `${text}: ${fix}`), notes: topicNotes(settings, found) };
        }),
      );
      if (faults.length > 0) shell.exitCode = 1;
      const text = faults.length === 0 ? ['All topics are there and fit.'] : faults;
      answer(shell, options, { faults, notes }, [...text, ...notes].join('\n'));
    });
  documented(command, 'topics check');
}
