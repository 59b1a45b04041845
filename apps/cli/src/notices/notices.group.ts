import { NOTICE_TYPES, type NoticeType } from '@relay/events';
import { Argument, Option, type Command } from 'commander';
import { operationsOf } from '../operations.js';
import { documented, documentedGroup, printSecret, readSecret, type Shell } from '../shell.js';

export function defineNotices(group: Command, shell: Shell): void {
  const command = group
    .command('add')
    .description("send the notices about all partners' webhooks to an address, and print the signing secrets once")
    .addArgument(new Argument('<url>', 'https address that receives them'))
    .addOption(new Option('--type <type...>', 'only these types').choices(NOTICE_TYPES))
    .option('--api-key-file <file>', 'what is sent as X-API-Key, in this file; - for standard input; else it is made')
    .action(async (url: string, options: { json?: boolean; apiKeyFile?: string; type?: NoticeType[] }) => {
      const { apiKeyFile: file, type: types } = options;
      const apiKey = file === undefined ? undefined : await readSecret(shell, '--api-key-file', file);
      const { webhooks, existing } = await operationsOf(shell).call('addNotices', { body: { url, types, apiKey } });
      for (const eventType of existing) shell.note(`${eventType} is sent there already`);
      printSecret(shell, options, webhooks);
    });
  documented(command, 'notices add https://ops.example/relay --type webhook.disabled');
  documentedGroup(group, 'notices add https://ops.example/relay');
}
