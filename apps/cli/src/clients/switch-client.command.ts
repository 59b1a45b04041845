import type { ClientKind } from '@relay/identity';
import type { Command } from 'commander';
import { documented } from '../documented.js';
import { operationsOf } from '../operations.js';
import { answer, type Shell } from '../shell.js';
import { assertKind } from './known-client.js';

const DESCRIPTIONS = {
  disable: (kind: ClientKind) =>
    `refuse a ${kind} and end its tokens, within seconds; \`enable\` undoes this, except for the tokens`,
  enable: (kind: ClientKind) =>
    `let a disabled ${kind} use its former credentials again, within seconds; its former tokens stay ended`,
};

/** `disable` and `enable` of partners, sources and operators. */
export function defineSwitchClient(group: Command, shell: Shell, kind: ClientKind, what: 'disable' | 'enable'): void {
  const command = group
    .command(what)
    .description(DESCRIPTIONS[what](kind))
    .argument('<id>', 'its client id')
    .action(async (clientId: string, options: { json?: boolean }) => {
      const api = operationsOf(shell);
      await assertKind(api, kind, clientId);
      await api.call(`${what}Client`, { path: { id: clientId } });
      answer(shell, options, { clientId, disabled: what === 'disable' }, `${clientId} is ${what}d.`);
      if (kind === 'partner' && what === 'disable')
        shell.note(
          `Its webhooks still get deliveries: \`relay webhooks disable --partner ${clientId}\` stops them, \`delete\` for good.`,
        );
    });
  documented(command, `${kind}s ${what} ${kind}_0Zt1…`);
}
