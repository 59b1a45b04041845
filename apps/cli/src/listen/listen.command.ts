import { forwardDeliveries, RelayClient } from '@relay/client';
import { sendEnv } from '@relay/config';
import { InvalidArgumentError, type Command } from 'commander';
import { answer, documented, loginOf, settingsOf, withLogin, type LoginOptions, type Shell } from '../shell.js';

type Options = LoginOptions & { json?: boolean; forwardTo?: URL; type: string[]; url?: URL };

export function defineListen(command: Command, shell: Shell): void {
  command
    .option('--forward-to <url>', 'URL that gets each delivery, with the same bytes and headers', urlOf)
    .option('--type <types>', 'event types, comma separated or repeated; by default all', typesOf, [])
    .option('--url <url>', 'address of the ingress; PUBLIC_URL without it', urlOf);
  withLogin(command, 'a partner').action(async (options: Options) => {
    const { forwardTo, type: types, url } = options;
    const settings = settingsOf(shell, sendEnv);
    const login = await loginOf(shell, options, settings);
    if (login === undefined)
      command.error(
        'error: a partner is needed: give --client-id and --client-secret-file, or RELAY_CLIENT_ID and RELAY_CLIENT_SECRET (`relay partners create NAME` makes one)',
      );
    const ending = new AbortController();
    void shell.interrupted().then(() => ending.abort());
    const client = new RelayClient({ url: url?.href ?? settings.PUBLIC_URL, ...login });
    const print = (value: object, text: string): void => answer(shell, options, value, text);
    await forwardDeliveries(client, { types, forwardTo, print, signal: ending.signal });
  });
  documented(command, 'listen --forward-to http://127.0.0.1:8080/webhooks --type task.created,task.updated');
}

function urlOf(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new InvalidArgumentError('An http or https URL is expected, such as http://127.0.0.1:8080/webhooks.');
  return url;
}

function typesOf(text: string, known: readonly string[]): string[] {
  const given = text.split(',').map((part) => {
    const name = part.trim();
    if (name === '') throw new InvalidArgumentError('an event type is expected.');
    return name;
  });
  return [...new Set([...known, ...given])];
}
