import type { Command } from 'commander';
import { documented } from '../documented.js';
import { answer, type Shell } from '../shell.js';
import { counted } from '../table.js';
import { assertChoice, notFound, withChoice, type Choice } from './choice.js';
import { changeWebhooks } from './registrations.adapter.js';

export function defineDisableWebhooks(group: Command, shell: Shell): void {
  const command = withChoice(
    group
      .command('disable')
      .description('stop deliveries to webhooks: their envelopes wait; only an operator enables the webhooks again'),
  ).action(async (ids: string[], options: Choice) => {
    assertChoice(command, ids, options);
    const report = await changeWebhooks(shell, 'disable', { ids, partner: options.partner });
    const { changed: disabled, unchanged: alreadyDisabled, missing } = report;
    if (missing.length > 0) shell.exitCode = 1;
    const lines = [
      `${counted(disabled.length, 'webhook')} disabled`,
      ...alreadyDisabled.map((id) => `disabled already ${id}`),
      ...missing.map(notFound),
    ];
    answer(shell, options, { disabled, alreadyDisabled, missing }, lines.join('\n'));
  });
  documented(command, 'webhooks disable --partner partner_0Zt1…');
}
