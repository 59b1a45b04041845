import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { LogView } from '@relay/redis';
import { ClientResult, ClientRecord, ClientRefused, type ClientCommand } from './client.js';
import { clientKeys } from './client.script.js';

const Insertion = z.enum(['inserted', 'client-exists', 'credential-exists']);
type Insertion = z.infer<typeof Insertion>;

const [CLIENTS, CREDENTIALS, VERSION] = clientKeys;

/**
 * The clients in Redis, in the layout of `client.script.ts`. They are changed by commands of the registry. Every method
 * rejects while Redis does not answer or may have lost writes.
 */
export class ClientStore {
  #seen = 0;

  constructor(
    private readonly redis: Redis,
    private readonly registry: LogView<ClientCommand>,
  ) {}

  /**
   * Adds a client unless another client has the same credential.
   * @param credentialHashes hashes of the client's credential under every key
   */
  async insert(client: ClientRecord, credentialHashes: readonly string[]): Promise<Insertion> {
    const { clientId } = client;
    const record = JSON.stringify(client);
    return Insertion.parse(await this.#apply({ kind: 'insert', clientId, record, hashes: credentialHashes }));
  }

  /**
   * Replaces a client by the result of `change`. If another writer was faster, tries again with the new state. Writes
   * nothing if `change` returns the same object. Returns undefined if the client does not exist.
   * @param another a scope that at least one other enabled client must have at that moment
   * @throws ClientRefused if no other enabled client has that scope
   */
  async replace(
    clientId: string,
    change: (client: ClientRecord) => ClientRecord,
    another?: string,
  ): Promise<ClientRecord | undefined> {
    await this.registry.current();
    for (;;) {
      const stored = await this.redis.hget(CLIENTS, clientId);
      if (stored === null) return undefined;
      const client = parse(stored);
      const changed = change(client);
      if (changed === client) return client;
      const command = { kind: 'replace', clientId, from: stored, to: JSON.stringify(changed) } as const;
      const result = await this.#apply(another === undefined ? command : { ...command, another });
      if (result === 'last') throw new ClientRefused(`No other enabled client has the scope ${another}`);
      if (result === 'replaced') return changed;
    }
  }

  async find(clientId: string): Promise<ClientRecord | undefined> {
    await this.registry.current();
    const stored = await this.redis.hget(CLIENTS, clientId);
    return stored === null ? undefined : parse(stored);
  }

  /** Returns the id of the client whose fixed credential has one of these hashes. */
  async findIdByCredential(hashes: readonly string[]): Promise<string | undefined> {
    await this.registry.current();
    const ids = await this.redis.hmget(CREDENTIALS, ...hashes);
    return ids.find((id) => id !== null) ?? undefined;
  }

  /** Returns the ids of clients by the hashes of their fixed credentials. */
  async credentials(): Promise<ReadonlyMap<string, string>> {
    await this.registry.current();
    return new Map(Object.entries(await this.redis.hgetall(CREDENTIALS)));
  }

  /** Returns all clients, oldest first. */
  async list(): Promise<ClientRecord[]> {
    await this.registry.current();
    const clients = (await this.redis.hvals(CLIENTS)).map(parse);
    return clients.toSorted((a, b) => a.createdAt - b.createdAt || a.clientId.localeCompare(b.clientId));
  }

  /** Returns a version that caches can compare. It is different after every change of a client. */
  async version(): Promise<string> {
    await this.registry.current();
    let version = await this.#readVersion();
    // If the version is lower than before, Redis has lost writes or was emptied, although its connection did not change.
    if (version < this.#seen) {
      await this.registry.catchUp();
      version = await this.#readVersion();
    }
    this.#seen = version;
    return String(version);
  }

  async #readVersion(): Promise<number> {
    return Number((await this.redis.get(VERSION)) ?? 0);
  }

  async #apply(command: ClientCommand): Promise<z.infer<typeof ClientResult>['kind']> {
    return ClientResult.parse(await this.registry.change(command)).kind;
  }
}

const parse = (stored: string): ClientRecord => ClientRecord.parse(JSON.parse(stored));
