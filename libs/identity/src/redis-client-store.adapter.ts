import type { Redis } from 'ioredis';
import type { z } from 'zod';
import type { LogView } from '@relay/redis';
import { ClientResult, ClientRecord, ClientRefused, type ClientCommand } from './client.js';
import { ClientStore, Insertion } from './client-store.port.js';
import { clientKeys } from './client.script.js';

const [CLIENTS, CREDENTIALS, VERSION] = clientKeys;

/** Clients in Redis, in the layout of `client.script.ts`; changed by commands of the registry. */
export class RedisClientStore extends ClientStore {
  #seen = 0;

  constructor(
    private readonly redis: Redis,
    private readonly registry: LogView<ClientCommand>,
  ) {
    super();
  }

  async insert(client: ClientRecord, credentialHashes: readonly string[]): Promise<Insertion> {
    const { clientId } = client;
    const record = JSON.stringify(client);
    return Insertion.parse(await this.#apply({ kind: 'insert', clientId, record, hashes: credentialHashes }));
  }

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

  async findIdByCredential(hashes: readonly string[]): Promise<string | undefined> {
    await this.registry.current();
    const ids = await this.redis.hmget(CREDENTIALS, ...hashes);
    return ids.find((id) => id !== null) ?? undefined;
  }

  async credentials(): Promise<ReadonlyMap<string, string>> {
    await this.registry.current();
    return new Map(Object.entries(await this.redis.hgetall(CREDENTIALS)));
  }

  async list(): Promise<ClientRecord[]> {
    await this.registry.current();
    const clients = (await this.redis.hvals(CLIENTS)).map(parse);
    return clients.toSorted((a, b) => a.createdAt - b.createdAt || a.clientId.localeCompare(b.clientId));
  }

  async version(): Promise<string> {
    await this.registry.current();
    let version = await this.#readVersion();
    // Redis went back, or was emptied, without a new connection.
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
