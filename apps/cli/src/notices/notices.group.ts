import type { Command } from 'commander';
import { documentedGroup } from '../documented.js';
import type { Shell } from '../shell.js';
import { defineAddNotices } from './add-notices.command.js';

export function defineNotices(group: Command, shell: Shell): void {
  defineAddNotices(group, shell);
  documentedGroup(group, 'notices add https://ops.example/relay');
}
