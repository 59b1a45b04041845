import type { ClientKind } from '@relay/identity';
import type { Command } from 'commander';
import { documentedGroup } from '../documented.js';
import { operationsOf } from '../operations.js';
import type { Shell } from '../shell.js';
import { defineChangeOperator } from './change-operator.command.js';
import { defineCreateClient, EXAMPLES } from './create-client.command.js';
import { defineListClients } from './list-clients.command.js';
import { defineRotateClient } from './rotate-client.command.js';
import { defineSwitchClient } from './switch-client.command.js';

export const definePartners = (group: Command, shell: Shell): void => define(group, shell, 'partner');
export const defineSources = (group: Command, shell: Shell): void => define(group, shell, 'source');
export const defineOperators = (group: Command, shell: Shell): void => define(group, shell, 'operator');

function define(group: Command, shell: Shell, kind: ClientKind): void {
  defineCreateClient(group.command('create'), shell, kind, `${kind}s create`, (body) =>
    operationsOf(shell).call('createClient', { body }),
  );
  defineListClients(group, shell, kind);
  if (kind === 'operator') defineChangeOperator(group, shell);
  defineRotateClient(group, shell, kind);
  defineSwitchClient(group, shell, kind, 'disable');
  defineSwitchClient(group, shell, kind, 'enable');
  documentedGroup(group, `${kind}s create ${EXAMPLES[kind]}`);
}
