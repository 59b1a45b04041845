import type { Keyring } from '@relay/keyring';
import {
  type ClientKind,
  type ClientRecord,
  ClientRefused,
  formatSecret,
  hashesOfCredential,
  hashOfSecret,
  hasRole,
  type IssuedClient,
  type NewClient,
  type OperatorRole,
  roleOf,
  scopeOfRole,
  SCOPES_OF,
  scopesOfRole,
  withNewSecret,
  withoutTokens,
} from './client.js';
import type { ClientStore } from './redis-client-store.adapter.js';

export interface IssuedSecret {
  readonly clientId: string;
  /** Shown once; only its hash is stored. */
  readonly clientSecret: string;
}

/** The partners that a source reaches, and the event types that it may send; each empty: all. */
interface SourceBinding {
  readonly audience: readonly string[];
  readonly types: readonly string[];
}

const UNBOUND: SourceBinding = { audience: [], types: [] };

/** The member of a record with these types; none without them, as in records of the versions before. */
const typesOf = (types: readonly string[]): Pick<ClientRecord, 'types'> =>
  types.length === 0 ? {} : { types: [...new Set(types)] };

/** Credential of a source: OAuth client, generated key or password, or a JWT of its own. */
type SourceCredential = Extract<NewClient, { kind: 'source' }>['credential'];

type ClientEvent = 'client.created' | 'client.changed' | 'client.rotated' | 'client.disabled' | 'client.enabled';

/** Previous role of an operator, or previous event types of a source, that change. */
interface Former {
  readonly formerRole?: OperatorRole | undefined;
  readonly formerTypes?: readonly string[];
}

/**
 * Called before each change; a rejection prevents the change.
 * @param client the client with its new role or types, otherwise as before the change
 */
type ClientAudit = (event: ClientEvent, client: ClientRecord, former?: Former) => Promise<void>;

/** Returns an audit of changes. @param report stores one record, without a secret */
export const clientAudit =
  (report: (facts: { readonly event: ClientEvent; readonly [fact: string]: unknown }) => Promise<void>): ClientAudit =>
  (event, { clientId, kind, name, scopes, types = [] }, former) =>
    report({
      event,
      clientId,
      kind,
      name,
      ...(kind === 'operator' ? { role: roleOf(scopes) } : {}),
      ...(types.length > 0 || former?.formerTypes !== undefined ? { types } : {}),
      ...former,
    });

/** Pause between rotations of a secret in ms, unless forced: a second rotation ends the secret that is in use. */
const REPEAT_MS = 60_000;

export class Clients {
  constructor(
    private readonly store: ClientStore,
    private readonly keyring: Keyring,
    private readonly random: (bytes: number) => Buffer,
    private readonly now: () => number,
    private readonly tell: ClientAudit = () => Promise.resolve(),
  ) {}

  /** @throws ClientRefused as `createSource` */
  create(wanted: NewClient): Promise<IssuedClient> {
    if (wanted.kind === 'partner') return this.createPartner(wanted.name);
    if (wanted.kind === 'operator') return this.createOperator(wanted.name, wanted.role);
    const { name, partners: audience, types, credential } = wanted;
    return this.createSource(name, { audience, types, credential });
  }

  createPartner(name: string): Promise<IssuedSecret> {
    return this.#createWithSecret('partner', name);
  }

  createOperator(name: string, role: OperatorRole): Promise<IssuedSecret> {
    return this.#createWithSecret('operator', name, UNBOUND, scopesOfRole(role));
  }

  /**
   * As `createOperator`, or if a disabled operator has this name and role, enables that one with a new secret alone.
   * For a program that needs an operator now and then: clients are never deleted.
   */
  async reuseOperator(name: string, role: OperatorRole): Promise<IssuedSecret> {
    const former = (await this.store.list()).find(
      (client) =>
        client.kind === 'operator' && client.disabled && client.name === name && roleOf(client.scopes) === role,
    );
    if (former === undefined) return this.createOperator(name, role);
    const issued = await this.rotateSecret(former.clientId, { endsTokens: true, force: true });
    await this.enable(former.clientId);
    return issued;
  }

  /**
   * @param options.audience ids of the partners to which the source is bound
   * @param options.types event types that it may send; all if there are none
   * @throws ClientRefused if a partner does not exist, or the credential is malformed or belongs to another source
   */
  async createSource(
    name: string,
    options: Partial<SourceBinding> & { credential?: SourceCredential } = {},
  ): Promise<IssuedClient> {
    const { audience = [], types = [], credential = 'client' } = options;
    const binding = { audience, types };
    for (const partner of audience)
      if ((await this.store.find(partner))?.kind !== 'partner')
        throw new ClientRefused(`There is no partner ${partner}`, 'partners');
    if (credential === 'client') return this.#createWithSecret('source', name, binding);
    if (credential === 'apiKey') {
      const apiKey = formatSecret('ak', this.random(32));
      return { clientId: await this.#createFixed(name, binding, 'apiKey', apiKey), apiKey };
    }
    if ('jwt' in credential) {
      const fault = jwsFault(credential.jwt);
      if (fault !== undefined) throw new ClientRefused(`That is no signed JWT: ${fault}`);
      return { clientId: await this.#createFixed(name, binding, 'jwt', credential.jwt) };
    }
    const { userName } = credential;
    if (userName === '' || /[:\p{Cc}]/u.test(userName))
      throw new ClientRefused('A user name has no colon and no control characters');
    const password = formatSecret('sk', this.random(32));
    const clientId = await this.#createFixed(name, binding, 'basic', `${userName}:${password}`);
    return { clientId, userName, password };
  }

  list(): Promise<ClientRecord[]> {
    return this.store.list();
  }

  /**
   * Issues a new secret. The present secret stays valid until the next rotation; its predecessor ends with all of its tokens.
   * @param options.endsTokens ends the present secret too, and therefore every token
   * @param options.force rotates although the last rotation was less than 60 s ago
   * @throws ClientRefused if the client does not exist, has a fixed credential, or was just rotated
   */
  async rotateSecret(
    clientId: string,
    { endsTokens = false, force = false }: { endsTokens?: boolean; force?: boolean } = {},
  ): Promise<IssuedSecret> {
    const found = await this.#find(clientId);
    if (found.credential !== undefined)
      throw new ClientRefused(`${clientId} has a fixed credential: create another source and disable this one`);
    const refuseRepeat = ({ rotatedAt = -Infinity }: ClientRecord): void => {
      if (!force && this.now() - rotatedAt < REPEAT_MS)
        throw new ClientRefused(
          `The secret of ${clientId} was rotated less than 60 s ago; to rotate it again, force it`,
        );
    };
    refuseRepeat(found);
    await this.tell('client.rotated', found);
    const clientSecret = formatSecret('sk', this.random(32));
    const hash = hashOfSecret(this.keyring, clientId, clientSecret);
    await this.store.replace(clientId, (client) => {
      refuseRepeat(client);
      return { ...withNewSecret(client, hash, endsTokens ? 0 : 1), rotatedAt: this.now() };
    });
    return { clientId, clientSecret };
  }

  /**
   * Changes the role of an operator. Other processes cache clients, so the change reaches them after a few seconds. A token
   * keeps the scopes that the new role has too; a higher role needs a new token.
   * @throws ClientRefused if the client is no operator, or the last enabled admin, which must keep that role
   */
  async changeRole(clientId: string, role: OperatorRole): Promise<void> {
    const found = await this.#find(clientId);
    if (found.kind !== 'operator')
      throw new ClientRefused(`${clientId} is a ${found.kind}, and only operators have a role`);
    const formerRole = roleOf(found.scopes);
    if (formerRole === role) return;
    const isLowered = formerRole === 'admin';
    if (isLowered && !(await this.#hasOtherAdmin(clientId)))
      throw new ClientRefused(`${clientId} is the last enabled admin: create or enable another one first`);
    const scopes = [...scopesOfRole(role)];
    await this.tell('client.changed', { ...found, scopes }, { formerRole });
    await this.store.replace(
      clientId,
      (client) => ({ ...client, scopes }),
      isLowered ? scopeOfRole('admin') : undefined,
    );
  }

  /**
   * Changes the event types that a source may send. Other processes cache clients, so the change reaches them after a few
   * seconds.
   * @param types the event types; an empty list allows all of them
   * @throws ClientRefused if the client is no source
   */
  async changeTypes(clientId: string, types: readonly string[]): Promise<void> {
    const found = await this.#find(clientId);
    if (found.kind !== 'source')
      throw new ClientRefused(`${clientId} is a ${found.kind}, and only sources are bound to event types`);
    const { types: formerTypes = [], ...unbound } = found;
    if (formerTypes.join() === [...new Set(types)].join()) return;
    await this.tell('client.changed', { ...unbound, ...typesOf(types) }, { formerTypes });
    await this.store.replace(clientId, ({ types: _types, ...client }) => ({ ...client, ...typesOf(types) }));
  }

  /**
   * Disables the client and ends its tokens. Other processes cache clients, so the change reaches them after a few seconds.
   */
  async disable(clientId: string): Promise<void> {
    const found = await this.#find(clientId);
    if (found.disabled) return;
    await this.tell('client.disabled', found);
    await this.store.replace(clientId, (client) =>
      client.disabled ? client : { ...withoutTokens(client), disabled: true },
    );
  }

  /** Enables a disabled client with its former credentials. */
  async enable(clientId: string): Promise<void> {
    const found = await this.#find(clientId);
    if (!found.disabled) return;
    await this.tell('client.enabled', found);
    await this.store.replace(clientId, (client) => (client.disabled ? { ...client, disabled: false } : client));
  }

  /** @throws ClientRefused if there is no such client; clients are never deleted */
  async #find(clientId: string): Promise<ClientRecord> {
    const found = await this.store.find(clientId);
    if (found === undefined) throw new ClientRefused(`There is no client ${clientId}`);
    return found;
  }

  /** Whether another enabled admin exists. The store checks it again with the change, since two admins may lower each other. */
  async #hasOtherAdmin(clientId: string): Promise<boolean> {
    const all = await this.store.list();
    return all.some((other) => other.clientId !== clientId && !other.disabled && hasRole(other.scopes, 'admin'));
  }

  async #createWithSecret(
    kind: ClientKind,
    name: string,
    binding = UNBOUND,
    scopes: readonly string[] = SCOPES_OF[kind],
  ): Promise<IssuedSecret> {
    const client = { ...this.#newClient(kind, name, binding), scopes: [...scopes] };
    const clientSecret = formatSecret('sk', this.random(32));
    const secretHashes = [hashOfSecret(this.keyring, client.clientId, clientSecret)];
    await this.#insert({ ...client, secretHashes }, []);
    return { clientId: client.clientId, clientSecret };
  }

  async #createFixed(
    name: string,
    binding: SourceBinding,
    type: 'apiKey' | 'jwt' | 'basic',
    credential: string,
  ): Promise<string> {
    const client = this.#newClient('source', name, binding);
    const [hash = '', ...older] = hashesOfCredential(this.keyring, type, credential);
    await this.#insert({ ...client, credential: { type, hash } }, [hash, ...older]);
    return client.clientId;
  }

  #newClient(kind: ClientKind, name: string, { audience, types }: SourceBinding): ClientRecord {
    return {
      clientId: `${kind}_${this.random(16).toString('base64url')}`,
      kind,
      name,
      scopes: [...SCOPES_OF[kind]],
      secretHashes: [],
      generation: 0,
      audience: [...audience],
      ...typesOf(types),
      disabled: false,
      createdAt: this.now(),
    };
  }

  async #insert(client: ClientRecord, credentialHashes: readonly string[]): Promise<void> {
    await this.tell('client.created', client);
    const result = await this.store.insert(client, credentialHashes);
    if (result === 'credential-exists') throw new ClientRefused('Another source has this credential');
    if (result !== 'inserted') throw new Error('The new client id exists already');
  }
}

const MAX_JWS_LENGTH = 4_096;
/** Length of an HS256 signature, the shortest of RFC 7518. A shorter signature is easier to guess. */
const MIN_SIGNATURE_BYTES = 32;

/** Returns why a text is no signed JWT in compact form (RFC 7515 section 7.1), without quoting it; undefined if it is one. */
export function jwsFault(text: string): string | undefined {
  if (text.length > MAX_JWS_LENGTH) return `it is longer than ${MAX_JWS_LENGTH} characters`;
  const [header = '', , signature = ''] = /^([\w-]+)\.([\w-]+)\.([\w-]*)$/.exec(text)?.slice(1) ?? [];
  if (header === '') return 'it does not have three parts in base64url with dots between them';
  const alg = algorithmIn(header);
  if (alg === undefined) return 'its first part is no JSON object that names an algorithm in `alg`';
  if (alg.toLowerCase() === 'none') return 'it is not signed: its `alg` is none';
  const bytes = Buffer.from(signature, 'base64url').length;
  if (bytes < MIN_SIGNATURE_BYTES)
    return `its signature has ${bytes} bytes: at least ${MIN_SIGNATURE_BYTES} are expected`;
  return undefined;
}

function algorithmIn(header: string): string | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(header, 'base64url').toString('utf8'));
    const alg: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'alg') : undefined;
    return typeof alg === 'string' && alg !== '' ? alg : undefined;
  } catch {
    return undefined;
  }
}
