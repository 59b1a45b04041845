import { isDispensable, useFix, useText, type KeyUse } from '@relay/doctor';
import type { Command } from 'commander';
import { keyringOf } from '../keyring.adapter.js';
import { documented } from '../documented.js';
import { shownProgress } from '../shown-progress.js';
import { withRegistry } from '../registry.adapter.js';
import { answer, type Shell } from '../shell.js';
import { counted } from '../table.js';
import { rotate, type RotationReport } from './rotation.adapter.js';

export function defineRotateKeys(group: Command, shell: Shell): void {
  const command = group
    .command('rotate')
    .description('re-encrypt the stored values of webhooks under the first of ENCRYPTION_KEYS, while all processes run')
    .action(async (options: { json?: boolean }) => {
      const keyring = keyringOf(shell);
      const shown = shownProgress(shell, options.json === true);
      const report = await withRegistry(shell, (stores) => rotate(stores, keyring, shown)).finally(() => shown.end());
      if (!isDone(report)) shell.exitCode = 1;
      const olderKeys = report.olderKeys.map((use) => ({ ...use, isNeeded: !isDispensable(use) }));
      answer(shell, options, { ...report, olderKeys }, textOf(report));
    });
  documented(command, 'keys rotate');
}

/** A client’s hash moves only when its secret is used; this command cannot do it. */
const isDone = ({ unreadable, olderKeys }: RotationReport): boolean =>
  unreadable.length === 0 && olderKeys.every(({ webhooks }) => webhooks.length === 0);

function textOf({ key, reencrypted, skipped, unreadable, olderKeys }: RotationReport): string {
  return [
    `${counted(reencrypted, 'webhook')} re-encrypted under ${key}, ${skipped} skipped: under it already, or deleted meanwhile.`,
    ...unreadable.map((id) => `error: no key opens the stored values of webhook ${id}; they are unchanged.`),
    ...(unreadable.length === 0
      ? []
      : [
          'Put the key that sealed them back behind the first. If that key is lost, the partner of each webhook sends `POST /webhooks/{id}/secret/rotate`, verifies with the secret in the answer, and then sends the credential again with `PATCH /webhooks/{id}`.',
        ]),
    ...olderKeys.map((use) => `${useText(use)}${isDispensable(use) ? '' : `: ${hintOf(use, unreadable)}`}.`),
  ].join('\n');
}

function hintOf(use: KeyUse, unreadable: readonly string[]): string {
  const isWrittenStill = use.webhooks.some((id) => !unreadable.includes(id));
  return isWrittenStill
    ? `a process has just sealed with it: restart the processes with another first key, then run this again`
    : useFix({ ...use, webhooks: [] });
}
