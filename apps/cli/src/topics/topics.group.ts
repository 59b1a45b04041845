import type { Command } from 'commander';
import { documentedGroup } from '../documented.js';
import type { Shell } from '../shell.js';
import { defineCheckTopics } from './check-topics.command.js';
import { defineCreateTopics } from './create-topics.command.js';

export function defineTopics(group: Command, shell: Shell): void {
  defineCreateTopics(group, shell);
  defineCheckTopics(group, shell);
  documentedGroup(group, 'topics create');
}
