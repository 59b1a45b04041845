import type { Redis } from 'ioredis';
import { redisKey, runScript } from '@relay/redis';
import { ClientStore, Insertion } from './client-store.port.js';
import { ClientRecord } from './client.js';
import { INSERT_CLIENT, REPLACE_CLIENT } from './client.script.js';

const CLIENTS = redisKey('clients');
const CREDENTIALS = redisKey('clients', 'credentials');
const VERSION = redisKey('clients', 'version');

/** `clients`: id → JSON record; `clients:credentials`: keyed hash → id; `clients:version`: counts the changes. */
export class RedisClientStore extends ClientStore {
  constructor(private readonly redis: Redis) {
    super();
  }

  async insert(client: ClientRecord, credentialHashes: readonly string[]): Promise<Insertion> {
    const args = [client.clientId, JSON.stringify(client), ...credentialHashes];
    const result = await runScript(this.redis, INSERT_CLIENT, [CLIENTS, CREDENTIALS, VERSION], args);
    return Insertion.parse(result);
  }

  async replace(clientId: string, change: (client: ClientRecord) => ClientRecord): Promise<ClientRecord | undefined> {
    for (;;) {
      const stored = await this.redis.hget(CLIENTS, clientId);
      if (stored === null) return undefined;
      const changed = change(parse(stored));
      const args = [clientId, stored, JSON.stringify(changed)];
      if ((await runScript(this.redis, REPLACE_CLIENT, [CLIENTS, VERSION], args)) === 1) return changed;
    }
  }

  async find(clientId: string): Promise<ClientRecord | undefined> {
    const stored = await this.redis.hget(CLIENTS, clientId);
    return stored === null ? undefined : parse(stored);
  }

  async findIdByCredential(hashes: readonly string[]): Promise<string | undefined> {
    const ids = await this.redis.hmget(CREDENTIALS, ...hashes);
    return ids.find((id) => id !== null) ?? undefined;
  }

  async list(): Promise<ClientRecord[]> {
    const clients = (await this.redis.hvals(CLIENTS)).map(parse);
    return clients.toSorted((a, b) => a.createdAt - b.createdAt || a.clientId.localeCompare(b.clientId));
  }

  async version(): Promise<string> {
    return (await this.redis.get(VERSION)) ?? '0';
  }
}

const parse = (stored: string): ClientRecord => ClientRecord.parse(JSON.parse(stored));
