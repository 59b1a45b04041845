import type { Command } from 'commander';
import { documentedGroup } from '../documented.js';
import type { Shell } from '../shell.js';
import { defineDeleteWebhooks } from './delete-webhooks.command.js';
import { defineDisableWebhooks } from './disable-webhooks.command.js';
import { defineListWebhooks } from './list-webhooks.command.js';

export function defineWebhooks(group: Command, shell: Shell): void {
  defineListWebhooks(group, shell);
  defineDisableWebhooks(group, shell);
  defineDeleteWebhooks(group, shell);
  documentedGroup(group, 'webhooks disable --partner partner_0Zt1…');
}
