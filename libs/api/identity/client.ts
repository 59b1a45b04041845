import { timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Keyring } from '@relay/keyring';
import { z } from 'zod';
import { TypePatterns } from './type-patterns.js';

export type ClientKind = 'partner' | 'source' | 'operator';

/** Scopes of a client of each kind. A client keeps the scopes that it was created with; a token may narrow them. */
export const SCOPES_OF = {
  partner: ['webhooks', 'sessions'],
  source: ['deliveries:write'],
  operator: ['operations:read', 'operations:write', 'operations'],
} as const satisfies Record<ClientKind, readonly string[]>;

export type Scope = (typeof SCOPES_OF)[ClientKind][number];

/**
 * Returns the scopes of a token request (RFC 6749 section 3.3) in the client's order: the requested ones, or all of the client's
 * if none is requested. Undefined if the text is malformed or requests a scope that the client does not have.
 */
export function narrowScopes(granted: readonly string[], requested: string | undefined): readonly string[] | undefined {
  if (requested === undefined) return granted;
  if (!/^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/.test(requested)) return undefined;
  const asked = requested.split(' ');
  return asked.every((scope) => granted.includes(scope)) ? granted.filter((scope) => asked.includes(scope)) : undefined;
}

/** Roles of an operator; each role includes the previous ones. */
export const OPERATOR_ROLES = ['viewer', 'operator', 'admin'] as const;
export type OperatorRole = (typeof OPERATOR_ROLES)[number];

/** Scopes of each role. The last one distinguishes the role from lesser ones. */
const SCOPES = {
  viewer: ['operations:read'],
  operator: ['operations:read', 'operations:write'],
  admin: SCOPES_OF.operator,
} as const satisfies Record<OperatorRole, readonly string[]>;

export const scopesOfRole = (role: OperatorRole): readonly string[] => SCOPES[role];

/** Returns the scope that a client or token of this role has, and that lesser roles lack. */
export const scopeOfRole = (role: OperatorRole): string => SCOPES[role].at(-1) ?? '';

/** Returns the highest role of these scopes. An operator created before roles existed has only `operations`, and all rights. */
export const roleOf = (scopes: readonly string[]): OperatorRole | undefined =>
  OPERATOR_ROLES.findLast((role) => scopes.includes(scopeOfRole(role)));

export function hasRole(scopes: readonly string[], needed: OperatorRole): boolean {
  const role = roleOf(scopes);
  return role !== undefined && OPERATOR_ROLES.indexOf(role) >= OPERATOR_ROLES.indexOf(needed);
}

/** Credential types that the specification gives to endpoints. A source may have one instead of a client secret. */
const CREDENTIAL_TYPES = ['apiKey', 'jwt', 'basic'] as const;
export type CredentialType = (typeof CREDENTIAL_TYPES)[number];

/** A client as stored. Its secrets are stored only as keyed hashes. */
export const ClientRecord = z.object({
  clientId: z.string(),
  kind: z.enum(['partner', 'source', 'operator']),
  name: z.string(),
  scopes: z.array(z.string()),
  /** Up to two valid secrets, the newest first, so that a rotation needs no outage. */
  secretHashes: z.array(z.string()).max(2),
  /** Epoch milliseconds of the last rotation. */
  rotatedAt: z.number().optional(),
  /** Generation of the newest secret, see `generationAt`. */
  generation: z.int(),
  /** Keyed hash of a source's fixed credential. */
  credential: z.object({ type: z.enum(CREDENTIAL_TYPES), hash: z.string() }).optional(),
  /** Partners to which a source is bound; empty if it is bound to none. */
  audience: z.array(z.string()),
  /** Patterns of the event types that a source may send, see `TypePatterns`; without them every type. */
  types: z.array(z.string()).optional(),
  disabled: z.boolean(),
  /** Epoch milliseconds. */
  createdAt: z.number(),
});
export type ClientRecord = z.infer<typeof ClientRecord>;

/** A client as operators see it: its record without secrets and their hashes. */
export const ClientFacts = z
  .object({
    clientId: z.string(),
    kind: z.enum(['partner', 'source', 'operator']),
    name: z.string().describe('People recognise it by this.'),
    role: z.enum(OPERATOR_ROLES).nullable().describe('Of an operator; `null` for others.'),
    scopes: z.array(z.string()),
    credentialType: z.enum(['client', ...CREDENTIAL_TYPES]).describe('`client`: client id and secret.'),
    partners: z.array(z.string()).describe('The partners a source is bound to; empty: to none.'),
    types: z.array(z.string()).describe('The event types a source may send, as `order.paid` or `order.*`; empty: all.'),
    disabled: z.boolean(),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'Client', description: 'A partner, a source or an operator.' });
export type ClientFacts = z.infer<typeof ClientFacts>;

export const clientFacts = ({ credential, audience, createdAt, ...client }: ClientRecord): ClientFacts => ({
  clientId: client.clientId,
  kind: client.kind,
  name: client.name,
  role: client.kind === 'operator' ? (roleOf(client.scopes) ?? null) : null,
  scopes: client.scopes,
  credentialType: credential?.type ?? 'client',
  partners: audience,
  types: client.types ?? [],
  disabled: client.disabled,
  createdAt: new Date(createdAt).toISOString(),
});

const name = z
  .string()
  .min(1)
  .max(200)
  .refine(
    (text) => text.trim() !== '' && !/\p{Cc}/u.test(text),
    'a readable name without control characters is expected',
  )
  .describe('People recognise the client by it: 1 to 200 characters, no control characters.');

export const NewClient = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('partner'), name }),
    z.strictObject({
      kind: z.literal('source'),
      name,
      partners: z.array(z.string().min(1).max(100)).max(100).default([]).describe('Partners it is bound to.'),
      types: TypePatterns.default([]),
      credential: z
        .union([
          z.enum(['client', 'apiKey']),
          z.strictObject({ jwt: z.string().min(1).max(4_096) }),
          z.strictObject({ userName: z.string().min(1).max(4_000) }),
        ])
        .default('client')
        .describe(
          '`client`: client id and secret; `apiKey`: a key; `jwt`: this signed JWT; `userName`: a password for this user.',
        ),
    }),
    z.strictObject({ kind: z.literal('operator'), name, role: z.enum(OPERATOR_ROLES) }),
  ])
  .meta({ id: 'NewClient', description: 'A client to create.' });
export type NewClient = z.infer<typeof NewClient>;

export const IssuedClient = z
  .union([
    z.object({ clientId: z.string(), clientSecret: z.string() }),
    z.object({ clientId: z.string(), apiKey: z.string() }),
    z.object({ clientId: z.string(), userName: z.string(), password: z.string() }),
    z.object({ clientId: z.string() }).describe('Of a source with a JWT of its own.'),
  ])
  .meta({ id: 'IssuedClient', description: 'The credential of a client, shown this once.' });
export type IssuedClient = z.infer<typeof IssuedClient>;

/** A refused change of a client. The message says why, and is the same for the command line and the API. */
export class ClientRefused extends Error {
  override readonly name = 'ClientRefused';

  /** @param member refused member of a new client */
  constructor(
    message: string,
    readonly member?: 'partners',
  ) {
    super(message);
  }
}

/** A self-contained change of the clients. Records are JSON texts as stored; `from` is the record that the change replaces. */
export type ClientCommand =
  | {
      readonly kind: 'insert';
      readonly clientId: string;
      readonly record: string;
      /** Hashes of the fixed credential under every key. No client may have any of them; the first one is stored. */
      readonly hashes: readonly string[];
    }
  | {
      readonly kind: 'replace';
      readonly clientId: string;
      readonly from: string;
      readonly to: string;
      /** A scope that another enabled client must have when the command is applied. */
      readonly another?: string;
    };

/** `stale`: the client changed since the command was built. `last`: no other enabled client has the scope `another`. */
export const ClientResult = z.object({
  kind: z.enum(['inserted', 'client-exists', 'credential-exists', 'replaced', 'stale', 'last']),
});

const SECRET_BYTES = 32;

/**
 * Returns a secret that scanners recognise: `relay_sk_` (client secret) or `relay_ak_` (API key), 256 random bits, and a CRC-32
 * of the text before it, by which a scanner distinguishes a leaked secret from a look-alike without asking the relay. It has only
 * letters, digits, `_` and `-`, which stay the same if an OAuth library form-encodes Basic credentials.
 * @param random 32 random bytes
 */
export function formatSecret(kind: 'sk' | 'ak', random: Buffer): string {
  if (random.length !== SECRET_BYTES) throw new RangeError('32 random bytes are expected');
  const body = `relay_${kind}_${random.toString('base64url')}`;
  return body + checksumOf(body);
}

/** Whether a text has the form and checksum of a secret of the relay, even if no client has this secret. */
export const isSecret = (text: string): boolean =>
  /^relay_[sa]k_[\w-]{49}$/.test(text) && text.slice(-6) === checksumOf(text.slice(0, -6));

function checksumOf(body: string): string {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(body));
  return sum.toString('base64url');
}

export const hashOfSecret = (keyring: Keyring, clientId: string, secret: string): string =>
  keyring.hash(secret, ['client-secret', clientId]);

/** Returns the possible stored hashes of a client secret: under each key, the writing key first. */
export const hashesOfSecret = (keyring: Keyring, clientId: string, secret: string): string[] =>
  keyring.hashes(secret, ['client-secret', clientId]);

/** Returns the possible stored hashes of a fixed credential: under each key, the writing key first. */
export const hashesOfCredential = (keyring: Keyring, type: CredentialType, credential: string): string[] =>
  keyring.hashes(credential, ['source-credential', type]);

/**
 * Returns the index of this secret in the client's record; undefined if it is not valid. Does the same work for an unknown client
 * as for a wrong secret.
 */
export function provenSecret(
  keyring: Keyring,
  client: ClientRecord | undefined,
  clientId: string,
  secret: string,
): number | undefined {
  const stored = [...(client?.secretHashes ?? []), '', ''].slice(0, 2);
  let proven: number | undefined;
  for (const hash of hashesOfSecret(keyring, clientId, secret)) {
    const given = Buffer.from(hash);
    for (const [place, candidate] of stored.entries()) {
      // Both have the same length, because timingSafeEqual refuses different ones. A hash is never empty.
      const known = Buffer.alloc(given.length);
      known.write(candidate);
      const equal = timingSafeEqual(given, known) && candidate.length === hash.length;
      if (equal) proven = place;
    }
  }
  return client === undefined || client.disabled ? undefined : proven;
}

// Every secret of a client has a generation, and a token carries the generation of the secret for which it was issued. So the end
// of a token needs no clock: hosts' clocks differ, and a process that learns of a change two seconds late still issues tokens.

type Secrets = Pick<ClientRecord, 'generation' | 'secretHashes'>;

/** Returns the generation of a live secret by its index in the record, which begins with the newest. */
export const generationAt = ({ generation }: Secrets, place: number): number => generation - place;

/** Whether tokens of this generation are valid, because their secret is. */
export const isLiveGeneration = (client: Secrets, generation: number): boolean =>
  generation >= generationAt(client, Math.max(0, client.secretHashes.length - 1));

/** Returns the client with a new secret. It keeps its newest former secret, or none. */
export function withNewSecret<T extends Secrets>(client: T, hash: string, keptBefore: 0 | 1): T {
  const secretHashes = [hash, ...client.secretHashes.slice(0, keptBefore)];
  return { ...client, secretHashes, generation: generationAt(client, -1) };
}

/** Returns the client with the same secrets under new generations, which ends all tokens issued for them. */
export const withoutTokens = <T extends Secrets>(client: T): T => ({
  ...client,
  generation: generationAt(client, -Math.max(1, client.secretHashes.length)),
});
