import type { Command } from 'commander';
import { documented } from '../documented.js';
import { answer, type Shell } from '../shell.js';
import { counted } from '../table.js';
import { changeWebhooks } from './change-webhooks.js';
import { assertChoice, notFound, withChoice, type Choice } from './choice.js';

const DESCRIPTIONS = {
  disable: 'stop deliveries to webhooks: their envelopes wait; only an operator enables the webhooks again',
  enable: 'deliver to disabled webhooks again, what waited for them too',
};

/** `relay webhooks disable` and `enable`. */
export function defineSwitchWebhooks(group: Command, shell: Shell, what: 'disable' | 'enable'): void {
  const command = withChoice(group.command(what).description(DESCRIPTIONS[what])).action(
    async (ids: string[], options: Choice) => {
      assertChoice(command, ids, options);
      const { changed, unchanged, missing } = await changeWebhooks(shell, what, ids, options.partner);
      if (missing.length > 0) shell.exitCode = 1;
      const lines = [
        `${counted(changed.length, 'webhook')} ${what}d`,
        ...unchanged.map((id) => `${what}d already ${id}`),
        ...missing.map(notFound),
      ];
      const already = what === 'disable' ? { alreadyDisabled: unchanged } : { alreadyEnabled: unchanged };
      answer(shell, options, { [`${what}d`]: changed, ...already, missing }, lines.join('\n'));
    },
  );
  documented(command, `webhooks ${what} --partner partner_0Zt1…`);
}
