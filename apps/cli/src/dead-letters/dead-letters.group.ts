import type { Command } from 'commander';
import { documentedGroup } from '../documented.js';
import type { Shell } from '../shell.js';
import { defineListLetters } from './list-letters.command.js';
import { definePurgeLetters } from './purge-letters.command.js';
import { defineReplayLetters } from './replay-letters.command.js';

export function defineDeadLetters(group: Command, shell: Shell): void {
  defineListLetters(group, shell);
  defineReplayLetters(group, shell);
  definePurgeLetters(group, shell);
  documentedGroup(group, 'dead-letters replay --all');
}
