import type { Command } from 'commander';
import { documented } from '../documented.js';
import { answer, type Shell } from '../shell.js';
import { counted } from '../table.js';
import { assertChoice, notFound, withChoice, type Choice } from './choice.js';
import { changeWebhooks } from './change-webhooks.js';

interface Options extends Choice {
  yes?: true;
}

export function defineDeleteWebhooks(group: Command, shell: Shell): void {
  const command = withChoice(
    group
      .command('delete')
      .description(
        'delete webhooks for good: their waiting deliveries end as cancelled; their dead letters stay until purged',
      ),
  )
    .option('--yes', 'really do it')
    .action(async (ids: string[], options: Options) => {
      assertChoice(command, ids, options);
      if (options.yes !== true) command.error('error: deleted webhooks are gone for good: confirm with --yes');
      const report = await changeWebhooks(shell, 'delete', ids, options.partner);
      const { changed: deleted, missing } = report;
      if (missing.length > 0) shell.exitCode = 1;
      const lines = [
        ...deleted.map((id) => `deleted ${id}`),
        `${counted(deleted.length, 'webhook')} deleted`,
        ...missing.map(notFound),
      ];
      answer(shell, options, { deleted, missing }, lines.join('\n'));
    });
  documented(command, 'webhooks delete --partner partner_0Zt1… --yes');
}
