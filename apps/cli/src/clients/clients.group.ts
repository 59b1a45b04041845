import type { ClientKind } from '@relay/identity';
import type { Command } from 'commander';
import { documentedGroup } from '../documented.js';
import type { Shell } from '../shell.js';
import { defineChangeOperator } from './change-operator.command.js';
import { defineCreateOperator, defineCreatePartner } from './create-client.command.js';
import { defineCreateSource } from './create-source.command.js';
import { defineDisableClient } from './disable-client.command.js';
import { defineEnableClient } from './enable-client.command.js';
import { defineListClients } from './list-clients.command.js';
import { defineRotateClient } from './rotate-client.command.js';

export const definePartners = (group: Command, shell: Shell): void => define(group, shell, 'partner');
export const defineSources = (group: Command, shell: Shell): void => define(group, shell, 'source');
export const defineOperators = (group: Command, shell: Shell): void => define(group, shell, 'operator');

function define(group: Command, shell: Shell, kind: ClientKind): void {
  DEFINE_CREATE[kind](group, shell);
  defineListClients(group, shell, kind);
  if (kind === 'operator') defineChangeOperator(group, shell);
  defineRotateClient(group, shell, kind);
  defineDisableClient(group, shell, kind);
  defineEnableClient(group, shell, kind);
  documentedGroup(group, `${kind}s create ${EXAMPLES[kind]}`);
}

const DEFINE_CREATE = { partner: defineCreatePartner, source: defineCreateSource, operator: defineCreateOperator };
const EXAMPLES = { partner: 'acme', source: 'billing --api-key', operator: 'night-shift --role operator' };
