import type { ClientKind } from '@relay/identity';
import type { Command } from 'commander';
import { documented } from '../documented.js';
import { operationsOf } from '../operations.js';
import type { Shell } from '../shell.js';
import { assertKind } from './known-client.js';
import { printSecret } from './secret.js';

export function defineRotateClient(group: Command, shell: Shell, kind: ClientKind): void {
  const command = group
    .command('rotate')
    .description(
      `issue a new secret for a ${kind}, known to every ingress within seconds; the previous secret stays valid until the next rotation, which also ends the tokens fetched with it`,
    )
    .argument('<id>', 'its client id')
    .option('--end-tokens', 'end all earlier secrets and every token at once, after a leak')
    .option('--force', 'rotate although the last rotation was less than 60 s ago')
    .action(async (clientId: string, options: { json?: boolean; endTokens?: boolean; force?: boolean }) => {
      const api = operationsOf(shell);
      await assertKind(api, kind, clientId);
      const body = { endsTokens: options.endTokens === true, force: options.force === true };
      printSecret(shell, options, await api.call('rotateClient', { path: { id: clientId }, body }));
    });
  documented(command, `${kind}s rotate ${kind}_0Zt1… --end-tokens`);
}
