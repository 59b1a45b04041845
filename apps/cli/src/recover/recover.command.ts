import { dedupeEnv } from '@relay/config';
import type { Log } from '@relay/telemetry';
import { RedisWebhookView } from '@relay/webhooks';
import type { Command } from 'commander';
import { keyringOf, withRegistry } from '../registry.adapter.js';
import { answer, counted, documented, settingsOf, type Shell } from '../shell.js';
import { shownProgress } from '../shown-progress.js';
import { recoverAll, type RecoveryReport } from './recovery.adapter.js';

export function defineRecover(command: Command, shell: Shell): void {
  command.action(async (options: { json?: boolean }) => {
    const startedAt = performance.now();
    const json = options.json === true;
    const shown = shownProgress(shell, json);
    const keyring = keyringOf(shell);
    const { DEDUPE_WINDOW } = settingsOf(shell, dedupeEnv);
    try {
      const found = await withRegistry(shell, (stores) => {
        const view = new RedisWebhookView(stores.redis, stores.registry.of('webhook'), keyring);
        return recoverAll({ ...stores, view, windowMs: DEDUPE_WINDOW, log: logOf(shell, json) }, shown);
      });
      const report = { ...found, seconds: Math.round((performance.now() - startedAt) / 100) / 10 };
      shown.end();
      answer(shell, options, report, textOf(report));
    } finally {
      shown.end();
    }
  });
  documented(command, 'recover');
}

const textOf = (report: RecoveryReport & { seconds: number }): string =>
  [
    `${counted(report.registrations, 'registration')} in Redis`,
    `${counted(report.deadLetters, 'dead letter')} put back, ${report.endedLetters} ended`,
    `${counted(report.records, 'record')} read: ${counted(report.deliveries, 'delivery', 'deliveries')} to make, ${report.alreadyFinal} already ended`,
    `${report.seconds} s. The workers continue by themselves within seconds.`,
  ].join('\n');

/** Prints what a worker would log: rejected records. */
function logOf(shell: Shell, json: boolean): Log {
  const say = (_event: string, message: string): void => {
    if (!json) shell.note(message);
  };
  return { error: say, warn: say, info: () => undefined, debug: () => undefined };
}
