import { forwardDeliveries, RelayClient } from '@relay/client';
import { sendEnv } from '@relay/config';
import { EVENT_TYPES, isEventType, type EventType } from '@relay/events';
import { InvalidArgumentError, type Command } from 'commander';
import { documented } from '../documented.js';
import { readSecret } from '../secret-input.js';
import { settingsOf } from '../settings.js';
import type { Shell } from '../shell.js';

interface Options {
  json?: boolean;
  forwardTo?: URL;
  type: EventType[];
  url?: URL;
  clientId?: string;
  clientSecretFile?: string;
}

export function defineListen(command: Command, shell: Shell): void {
  command
    .option('--forward-to <url>', 'URL that gets each delivery, with the same bytes and headers', urlOf)
    .option('--type <types>', 'event types, comma separated or repeated; by default all', typesOf, [])
    .option('--url <url>', 'address of the ingress; PUBLIC_URL without it', urlOf)
    .option('--client-id <id>', 'client id of a partner; RELAY_CLIENT_ID without it')
    .option(
      '--client-secret-file <file>',
      'a file with its secret, - for standard input; RELAY_CLIENT_SECRET without it',
    )
    .action(async ({ json = false, forwardTo, type, url, clientSecretFile: file, ...options }: Options) => {
      const settings = settingsOf(shell, sendEnv);
      const clientId = options.clientId ?? settings.RELAY_CLIENT_ID;
      const clientSecret =
        file === undefined ? settings.RELAY_CLIENT_SECRET : await readSecret(shell, '--client-secret-file', file);
      if (clientId === undefined || clientSecret === undefined)
        command.error(
          'error: a partner is needed: give --client-id and --client-secret-file, or RELAY_CLIENT_ID and RELAY_CLIENT_SECRET (`relay partners create NAME` makes one)',
        );
      const ending = new AbortController();
      void shell.interrupted().then(() => ending.abort());
      const client = new RelayClient({ url: url?.href ?? settings.PUBLIC_URL, clientId, clientSecret });
      const print = (value: object, text: string): void => shell.print(json ? JSON.stringify(value) : text);
      await forwardDeliveries(client, { types: type, forwardTo, print, signal: ending.signal });
    });
  documented(command, 'listen --forward-to http://127.0.0.1:8080/webhooks --type task.created,task.updated');
}

function urlOf(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new InvalidArgumentError('An http or https URL is expected, such as http://127.0.0.1:8080/webhooks.');
  return url;
}

function typesOf(text: string, known: readonly EventType[]): EventType[] {
  const given = text.split(',').map((part) => {
    const name = part.trim();
    if (!isEventType(name)) throw new InvalidArgumentError(`${name} is none of ${EVENT_TYPES.join(', ')}.`);
    return name;
  });
  return [...new Set([...known, ...given])];
}
