import type { ClientKind } from '@relay/identity';
import type { Command } from 'commander';
import { documentedGroup } from '../documented.js';
import type { Shell } from '../shell.js';
import { defineCreateClient } from './create-client.command.js';
import { defineCreateSource } from './create-source.command.js';
import { defineDisableClient } from './disable-client.command.js';
import { defineEnableClient } from './enable-client.command.js';
import { defineListClients } from './list-clients.command.js';
import { defineRotateClient } from './rotate-client.command.js';

export const definePartners = (group: Command, shell: Shell): void => define(group, shell, 'partner');
export const defineSources = (group: Command, shell: Shell): void => define(group, shell, 'source');
export const defineOperators = (group: Command, shell: Shell): void => define(group, shell, 'operator');

function define(group: Command, shell: Shell, kind: ClientKind): void {
  if (kind === 'source') defineCreateSource(group, shell);
  else defineCreateClient(group, shell, kind);
  defineListClients(group, shell, kind);
  defineRotateClient(group, shell, kind);
  defineDisableClient(group, shell, kind);
  defineEnableClient(group, shell, kind);
  documentedGroup(group, `${kind}s create ${kind === 'source' ? 'billing --api-key' : 'acme'}`);
}
