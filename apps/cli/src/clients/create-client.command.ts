import {
  OPERATOR_ROLES,
  type ClientKind,
  type IssuedClient,
  type NewClient,
  type OperatorRole,
} from '@relay/identity';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { documented, printSecret, readSecret, type Shell } from '../shell.js';

interface Options {
  json?: boolean;
  role?: OperatorRole;
  apiKey?: true;
  jwtFile?: string;
  basic?: string;
  partner?: string[];
}

/**
 * @param called the command up to its arguments
 * @param issue makes the client: by the operations app, or for `relay admin` in the stores
 */
export function defineCreateClient(
  command: Command,
  shell: Shell,
  kind: ClientKind,
  called: string,
  issue: (wanted: NewClient) => Promise<IssuedClient>,
): void {
  command.argument('<name>', 'a name to recognise it by', clientName);
  if (kind === 'operator') command.addOption(roleOption());
  if (kind === 'source') withCredential(command);
  const printed = `its client id and secret${kind === 'source' ? ', or the credential asked for' : ''}`;
  command
    .description(`create a ${kind} and print ${printed}, once`)
    .action(async (name: string, options: Options) => {
      printSecret(shell, options, await issue(await wantedOf(shell, kind, name, options)));
    });
  documented(command, `${called} ${EXAMPLES[kind]}`);
}

export const EXAMPLES = {
  partner: 'acme',
  source: 'billing --partner partner_0Zt1…',
  operator: 'night-shift --role operator',
} as const;

const withCredential = (command: Command): Command =>
  command
    .addOption(new Option('--api-key', 'issue an API key instead').conflicts(['jwtFile', 'basic']))
    .addOption(
      new Option('--jwt-file <file>', 'accept the fixed JWT in this file instead; - for standard input').conflicts([
        'apiKey',
        'basic',
      ]),
    )
    .addOption(new Option('--basic <user>', 'issue a password for this user instead').conflicts(['apiKey', 'jwtFile']))
    .option('--partner <id>', 'bind it to a partner; repeatable', (id, ids: string[]) => [...ids, id], []);

async function wantedOf(shell: Shell, kind: ClientKind, name: string, options: Options): Promise<NewClient> {
  const { role = 'viewer', partner: partners = [], apiKey, jwtFile, basic } = options;
  if (kind === 'partner') return { kind, name };
  if (kind === 'operator') return { kind, name, role };
  if (apiKey === true) return { kind, name, partners, credential: 'apiKey' };
  if (jwtFile !== undefined)
    return { kind, name, partners, credential: { jwt: await readSecret(shell, '--jwt-file', jwtFile) } };
  return { kind, name, partners, credential: basic === undefined ? 'client' : { userName: basic } };
}

export const roleOption = (): Option =>
  new Option('--role <role>', 'viewer: looks; operator: changes too; admin: makes and changes clients too')
    .choices(OPERATOR_ROLES)
    .makeOptionMandatory();

/** The name of a client. People recognise the client by it, so it must be readable. */
function clientName(text: string): string {
  const name = text.trim();
  if (name === '' || name.length > 200 || /\p{Cc}/u.test(name))
    throw new InvalidArgumentError('A name has 1 to 200 characters and no control characters.');
  return name;
}
