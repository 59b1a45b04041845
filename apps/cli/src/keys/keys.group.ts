import type { Command } from 'commander';
import { documentedGroup } from '../documented.js';
import type { Shell } from '../shell.js';
import { defineForgetKey } from './forget-key.command.js';
import { defineRotateKeys } from './rotate-keys.command.js';

export function defineKeys(group: Command, shell: Shell): void {
  defineRotateKeys(group, shell);
  defineForgetKey(group, shell);
  documentedGroup(group, 'keys rotate');
}
