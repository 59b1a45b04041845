import { summaryOf } from '@relay/doctor';
import type { Command } from 'commander';
import { documented } from '../documented.js';
import { answer, type Shell } from '../shell.js';
import { checkAll } from './checks.js';
import { findingsText } from './findings-text.js';

export function defineDoctor(command: Command, shell: Shell): void {
  command.action(async (options: { json?: boolean }) => {
    const findings = await checkAll(shell);
    const summary = summaryOf(findings);
    if (!summary.healthy) shell.exitCode = 1;
    answer(shell, options, summary, findingsText(findings));
  });
  documented(command, 'doctor');
}
