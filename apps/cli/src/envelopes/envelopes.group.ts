import type { Command } from 'commander';
import { documentedGroup } from '../documented.js';
import type { Shell } from '../shell.js';
import { defineGetEnvelope } from './get-envelope.command.js';

export function defineEnvelopes(group: Command, shell: Shell): void {
  defineGetEnvelope(group, shell);
  documentedGroup(group, `${group.name()} get 3c2a5a9e-6d0f-4b3c-9c57-1c7c1c0a7f11`);
}
