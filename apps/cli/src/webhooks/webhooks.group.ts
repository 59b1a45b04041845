import type { Command } from 'commander';
import { documentedGroup } from '../documented.js';
import type { Shell } from '../shell.js';
import { defineDeleteWebhooks } from './delete-webhooks.command.js';
import { defineListWebhooks } from './list-webhooks.command.js';
import { defineSwitchWebhooks } from './switch-webhooks.command.js';

export function defineWebhooks(group: Command, shell: Shell): void {
  defineListWebhooks(group, shell);
  defineSwitchWebhooks(group, shell, 'disable');
  defineSwitchWebhooks(group, shell, 'enable');
  defineDeleteWebhooks(group, shell);
  documentedGroup(group, 'webhooks disable --partner partner_0Zt1…');
}
