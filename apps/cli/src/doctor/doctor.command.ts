import type { Command } from 'commander';
import { documented } from '../documented.js';
import { answer, type Shell } from '../shell.js';
import { checkAll } from './checks.adapter.js';
import { findingsText, isHealthy } from './finding.js';

export function defineDoctor(command: Command, shell: Shell): void {
  command.action(async (options: { json?: boolean }) => {
    const findings = await checkAll(shell);
    if (!isHealthy(findings)) shell.exitCode = 1;
    answer(shell, options, { healthy: isHealthy(findings), findings }, findingsText(findings));
  });
  documented(command, 'doctor');
}
