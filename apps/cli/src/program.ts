import { RELAY_VERSION } from '@relay/config';
import { Command, CommanderError } from 'commander';
import { documentedGroup, type Shell } from './shell.js';

type Define = (command: Command, shell: Shell) => void;

interface Entry {
  readonly description: string;
  /** Set for a command that opens Redis or Kafka itself. `only` puts it under `relay admin`, `both` also under `relay`. */
  readonly admin?: 'only' | 'both';
  readonly load: () => Promise<Define>;
}

/** All commands. The modules of a command are loaded only if it is called, because imports are half of the start-up time. */
export const COMMANDS: Readonly<Record<string, Entry>> = {
  partners: {
    description: 'create, list, rotate and disable partners, who own webhooks',
    load: async () => (await import('./clients/clients.group.js')).definePartners,
  },
  sources: {
    description: 'create, list, rotate and disable sources, who send envelopes',
    load: async () => (await import('./clients/clients.group.js')).defineSources,
  },
  operators: {
    description: 'create, list, rotate and disable operators, who run the relay',
    load: async () => (await import('./clients/clients.group.js')).defineOperators,
  },
  webhooks: {
    description: "list, disable, enable and delete partners' webhooks",
    load: async () => (await import('./webhooks/webhooks.group.js')).defineWebhooks,
  },
  notices: {
    description: "send the notices about all partners' webhooks to an operators' address",
    load: async () => (await import('./webhooks/webhooks.group.js')).defineNotices,
  },
  'event-types': {
    description: 'list, apply, archive and import event types',
    load: async () => (await import('./event-types/event-types.group.js')).defineEventTypes,
  },
  topics: {
    admin: 'both',
    description: "create and check the relay's Kafka topics",
    load: async () => (await import('./topics/topics.group.js')).defineTopics,
  },
  send: {
    description: 'send envelopes to the ingress as a source',
    load: async () => (await import('./send/send.command.js')).defineSend,
  },
  listen: {
    description: 'receive deliveries on this machine: print each and forward it to a program under development',
    load: async () => (await import('./listen/listen.command.js')).defineListen,
  },
  envelopes: {
    description: 'show what became of an envelope',
    load: async () => (await import('./envelopes/envelopes.group.js')).defineEnvelopes,
  },
  deliveries: {
    description: 'the same as `envelopes`',
    load: async () => (await import('./envelopes/envelopes.group.js')).defineEnvelopes,
  },
  'dead-letters': {
    description: 'list, replay and purge deliveries that were given up',
    load: async () => (await import('./dead-letters/dead-letters.group.js')).defineDeadLetters,
  },
  replay: {
    description: 'deliver the envelopes of a type and time once more',
    load: async () => (await import('./replay/replay.command.js')).defineReplay,
  },
  audit: {
    description: 'show who changed what, and what the relay did by itself',
    load: async () => (await import('./audit/audit.command.js')).defineAudit,
  },
  clients: {
    admin: 'only',
    description: 'create a client without the operations app: the first operator',
    load: async () => (await import('./clients/admin-clients.group.js')).defineAdminClients,
  },
  recover: {
    admin: 'both',
    description: 'after Redis was lost: rebuild it from Kafka and make every delivery without a final outcome',
    load: async () => (await import('./recover/recover.command.js')).defineRecover,
  },
  reshard: {
    admin: 'both',
    description: 'change the number of shards of the state in Redis while the relay is stopped',
    load: async () => (await import('./reshard/reshard.command.js')).defineReshard,
  },
  keys: {
    admin: 'both',
    description: 're-encrypt stored values under the first of ENCRYPTION_KEYS, forget older keys',
    load: async () => (await import('./keys/keys.group.js')).defineKeys,
  },
  registry: {
    admin: 'both',
    description: 'delete records of relay.registry that a snapshot replaces',
    load: async () => (await import('./registry/registry.group.js')).defineRegistry,
  },
  doctor: {
    admin: 'both',
    description: 'check Redis, Kafka and the keys, and name each fault with its fix',
    load: async () => (await import('./doctor/doctor.command.js')).defineDoctor,
  },
};

/** Runs a command line and returns its exit code: 0 for success, 1 for a failure or a found fault, 2 for a usage error. */
export async function runProgram(args: readonly string[], shell: Shell): Promise<0 | 1 | 2> {
  try {
    const program = await programOf(args, shell);
    await program.parseAsync(args, { from: 'user' });
    return shell.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    shell.note(`error: ${sentenceOf(error)}`);
    return 1;
  }
}

/** Builds the command tree. Commands that `args` does not name get only a name and a description. */
export async function programOf(args: readonly string[], shell: Shell): Promise<Command> {
  const program = new Command('relay')
    .description('Partner Relay: events in once, out to every partner who asked for them.')
    .version(RELAY_VERSION)
    .showHelpAfterError('(relay … --help shows the usage)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => shell.print(text.trimEnd()),
      writeErr: (text) => shell.note(text.trimEnd()),
    });
  documentedGroup(program, 'partners create acme');
  const rescue = program
    .command('admin')
    .description('work on Redis and Kafka themselves, with the settings of the relay');
  documentedGroup(rescue, 'admin clients create operator first --role admin');
  for (const [name, { admin, description, load }] of Object.entries(COMMANDS)) {
    const parents = [...(admin === 'only' ? [] : [program]), ...(admin === undefined ? [] : [rescue])];
    for (const parent of parents) {
      const command = parent.command(name).description(description);
      if (args.includes(name)) (await load())(command, shell);
    }
  }
  return program;
}

function sentenceOf(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return /[.!?:]$/.test(text) || text.includes('\n') ? text : `${text}.`;
}
