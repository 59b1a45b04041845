import {
  type ClientFacts,
  type ClientKind,
  type IssuedClient,
  type NewClient,
  OPERATOR_ROLES,
  type OperatorRole,
} from '@relay/identity';
import type { OperationsClient } from '@relay/operations-client';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { assertKind, MOST_LISTED, operationsOf } from '../operations.js';
import { answer, documented, documentedGroup, printSecret, readSecret, type Shell, table } from '../shell.js';

export const definePartners = (group: Command, shell: Shell): void => define(group, shell, 'partner');
export const defineSources = (group: Command, shell: Shell): void => define(group, shell, 'source');
export const defineOperators = (group: Command, shell: Shell): void => define(group, shell, 'operator');

function define(group: Command, shell: Shell, kind: ClientKind): void {
  defineCreateClient(group.command('create'), shell, kind, `${kind}s create`, (body) =>
    operationsOf(shell).call('createClient', { body }),
  );
  defineList(group.command('list'), shell, kind);
  if (kind === 'operator') defineChange(group.command('change'), shell);
  if (kind === 'source') defineBind(group.command('bind'), shell);
  defineRotate(group.command('rotate'), shell, kind);
  defineSwitch(group.command('disable'), shell, kind, 'disable');
  defineSwitch(group.command('enable'), shell, kind, 'enable');
  documentedGroup(group, `${kind}s create ${EXAMPLES[kind]}`);
}

function defineList(command: Command, shell: Shell, kind: ClientKind): void {
  command.description(`list the ${kind}s, oldest first`).action(async (options: { json?: boolean }) => {
    const query = { kind, limit: MOST_LISTED };
    const clients = await operationsOf(shell).all('listClients', { query }, (page) => page.clients);
    const empty = `There are no ${kind}s: \`relay ${kind}s create NAME\` makes one.`;
    answer(shell, options, clients, clients.length === 0 ? empty : table(clients.map(rowOf)));
  });
  documented(command, `${kind}s list`);
}

const rowOf = ({
  clientId,
  name,
  role,
  credentialType,
  partners,
  types,
  disabled,
  createdAt,
}: ClientFacts): string[] => [
  clientId,
  name,
  createdAt,
  disabled ? 'disabled' : 'active',
  role ?? (credentialType === 'client' ? '' : credentialType),
  [partners.length === 0 ? '' : `for ${partners.join(', ')}`, types.length === 0 ? '' : `sends ${types.join(', ')}`]
    .join(' ')
    .trim(),
];

function defineChange(command: Command, shell: Shell): void {
  command
    .description(
      'give an operator another role, within seconds, also in its open sessions; a higher role needs a new token',
    )
    .argument('<id>', 'its client id')
    .addOption(roleOption())
    .action(async (clientId: string, options: { json?: boolean; role: OperatorRole }) => {
      const { role } = options;
      const api = await operationsFor(shell, 'operator', clientId);
      await api.call('changeClient', { path: { id: clientId }, body: { role } });
      answer(shell, options, { clientId, role }, `${clientId} has the role ${role}.`);
    });
  documented(command, 'operators change operator_0Zt1… --role viewer');
}

function defineBind(command: Command, shell: Shell): void {
  command
    .description('bind a source to the event types that it may send, within seconds; they replace the former ones')
    .argument('<id>', 'its client id')
    .addOption(typesOption())
    .addOption(new Option('--all', 'let it send every event type').conflicts('types'))
    .action(async (clientId: string, options: { json?: boolean; types?: string[]; all?: true }) => {
      const types = options.all === true ? [] : options.types;
      if (types === undefined) throw new Error('give --types, or --all for every event type');
      const api = await operationsFor(shell, 'source', clientId);
      await api.call('changeClient', { path: { id: clientId }, body: { types } });
      answer(shell, options, { clientId, types }, `${clientId} may send ${types.join(', ') || 'every event type'}.`);
    });
  documented(command, "sources bind source_0Zt1… --types 'order.*,invoice.paid'");
}

function defineRotate(command: Command, shell: Shell, kind: ClientKind): void {
  command
    .description(
      `issue a new secret for a ${kind}, known to every ingress within seconds; the previous secret stays valid until the next rotation, which also ends the tokens fetched with it`,
    )
    .argument('<id>', 'its client id')
    .option('--end-tokens', 'end all earlier secrets and every token within two seconds, after a leak')
    .option('--force', 'rotate although the last rotation was less than 60 s ago')
    .action(async (clientId: string, options: { json?: boolean; endTokens?: boolean; force?: boolean }) => {
      const api = await operationsFor(shell, kind, clientId);
      const body = { endsTokens: options.endTokens === true, force: options.force === true };
      printSecret(shell, options, await api.call('rotateClient', { path: { id: clientId }, body }));
    });
  documented(command, `${kind}s rotate ${kind}_0Zt1… --end-tokens`);
}

const SWITCHED = {
  disable: (kind: ClientKind) =>
    `refuse a ${kind} and end its tokens, within seconds; \`enable\` undoes this, except for the tokens`,
  enable: (kind: ClientKind) =>
    `let a disabled ${kind} use its former credentials again, within seconds; its former tokens stay ended`,
};

function defineSwitch(command: Command, shell: Shell, kind: ClientKind, what: 'disable' | 'enable'): void {
  command
    .description(SWITCHED[what](kind))
    .argument('<id>', 'its client id')
    .action(async (clientId: string, options: { json?: boolean }) => {
      const api = await operationsFor(shell, kind, clientId);
      await api.call(`${what}Client`, { path: { id: clientId } });
      answer(shell, options, { clientId, disabled: what === 'disable' }, `${clientId} is ${what}d.`);
      if (kind === 'partner' && what === 'disable')
        shell.note(
          `Its webhooks still get deliveries: \`relay webhooks disable --partner ${clientId}\` stops them, \`delete\` for good.`,
        );
    });
  documented(command, `${kind}s ${what} ${kind}_0Zt1…`);
}

/** The operations app, once it knows a client of this kind by the id. */
async function operationsFor(shell: Shell, kind: ClientKind, clientId: string): Promise<OperationsClient> {
  const api = operationsOf(shell);
  await assertKind(api, kind, clientId);
  return api;
}

interface Options {
  json?: boolean;
  role?: OperatorRole;
  apiKey?: true;
  jwtFile?: string;
  basic?: string;
  partner?: string[];
  types?: string[];
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
  command.description(`create a ${kind} and print ${printed}, once`).action(async (name: string, options: Options) => {
    printSecret(shell, options, await issue(await wantedOf(shell, kind, name, options)));
  });
  documented(command, `${called} ${EXAMPLES[kind]}`);
}

const EXAMPLES = {
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
    .option('--partner <id>', 'bind it to a partner; repeatable', (id, ids: string[]) => [...ids, id], [])
    .addOption(typesOption());

const typesOption = (): Option =>
  new Option('--types <types>', "the event types that it may send, such as 'order.*,invoice.paid'").argParser(
    (text) => {
      const types = text.split(',').map((type) => type.trim());
      // An empty variable of a shell must not let a source send every type.
      if (types.includes('')) throw new InvalidArgumentError('Event types with commas between them are expected.');
      return types;
    },
  );

async function wantedOf(shell: Shell, kind: ClientKind, name: string, options: Options): Promise<NewClient> {
  const { role = 'viewer', partner: partners = [], types = [], apiKey, jwtFile, basic } = options;
  if (kind === 'partner') return { kind, name };
  if (kind === 'operator') return { kind, name, role };
  if (apiKey === true) return { kind, name, partners, types, credential: 'apiKey' };
  if (jwtFile !== undefined)
    return { kind, name, partners, types, credential: { jwt: await readSecret(shell, '--jwt-file', jwtFile) } };
  return { kind, name, partners, types, credential: basic === undefined ? 'client' : { userName: basic } };
}

const roleOption = (): Option =>
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
