import type { Command } from 'commander';
import { documentedGroup } from '../documented.js';
import type { Shell } from '../shell.js';
import { defineCompactRegistry } from './compact-registry.command.js';
import { defineMoveRegistry } from './move-registry.command.js';

export function defineRegistry(group: Command, shell: Shell): void {
  defineCompactRegistry(group, shell);
  defineMoveRegistry(group, shell);
  documentedGroup(group, 'registry compact');
}
