import type { Command } from 'commander';
import { documentedGroup } from '../documented.js';
import type { Shell } from '../shell.js';
import { defineGetDeliveries } from './get-deliveries.command.js';

export function defineDeliveries(group: Command, shell: Shell): void {
  defineGetDeliveries(group, shell);
  documentedGroup(group, 'deliveries get 3c2a5a9e-6d0f-4b3c-9c57-1c7c1c0a7f11');
}
