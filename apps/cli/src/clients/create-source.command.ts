import type { IssuedSource, SourceCredential } from '@relay/identity';
import { Option, type Command } from 'commander';
import { documented } from '../documented.js';
import { readSecret } from '../secret-input.js';
import type { Shell } from '../shell.js';
import { clientName } from './client-name.js';
import { withIssuing } from './clients.adapter.js';
import { printSecret } from './secret.js';

interface Options {
  json?: boolean;
  apiKey?: true;
  jwtFile?: string;
  basic?: string;
  partner: string[];
}

export function defineCreateSource(group: Command, shell: Shell): void {
  const command = group
    .command('create')
    .description('create a source and print its client id and secret, or the credential asked for, once')
    .argument('<name>', 'a name to recognise it by', clientName)
    .addOption(new Option('--api-key', 'issue an API key instead').conflicts(['jwtFile', 'basic']))
    .addOption(
      new Option('--jwt-file <file>', 'accept the fixed JWT in this file instead; - for standard input').conflicts([
        'apiKey',
        'basic',
      ]),
    )
    .addOption(new Option('--basic <user>', 'issue a password for this user instead').conflicts(['apiKey', 'jwtFile']))
    .option('--partner <id>', 'bind it to a partner; repeatable', (id, ids: string[]) => [...ids, id], [])
    .action(async (name: string, options: Options) => {
      const credential = await credentialOf(shell, options);
      const issued = await withIssuing(shell, (clients) =>
        clients.createSource(name, { audience: options.partner, credential }),
      );
      printSecret(shell, options, shownOf(issued));
    });
  documented(command, 'sources create billing --partner partner_0Zt1…');
}

async function credentialOf(shell: Shell, { apiKey, jwtFile, basic }: Options): Promise<SourceCredential> {
  if (apiKey === true) return 'apiKey';
  if (jwtFile !== undefined) return { jwt: await readSecret(shell, '--jwt-file', jwtFile) };
  return basic === undefined ? 'client' : { userName: basic };
}

/** The operator supplied this JWT, so it is not printed again. */
const shownOf = (issued: IssuedSource): object => ('jwt' in issued ? { clientId: issued.clientId } : issued);
