import { randomBytes } from 'node:crypto';
import type { Audit } from '@relay/audit';
import {
  type ClientAudit,
  type ClientRecord,
  ClientRefused,
  Clients,
  type ClientStore,
  type OperatorRole,
  roleOf,
} from '@relay/identity';
import type { Keyring } from '@relay/keyring';
import { ProblemError } from '@relay/problem';
import { keyKeys, sealingFault } from '@relay/registry';
import type { Redis } from 'ioredis';
import type { IssuedClient, NewClient, Rotation } from './client-request.js';

/** Who asks, as `relay.operations` names them. */
export interface AskedBy {
  readonly operator: string;
  readonly requestId: string;
}

/** Creates and changes clients for an operator. Each change is reported on `relay.operations` first. */
export class ClientDesk {
  constructor(
    private readonly store: ClientStore,
    private readonly keyring: Keyring,
    private readonly redis: Redis,
    private readonly audit: Audit,
  ) {}

  list(): Promise<ClientRecord[]> {
    return this.store.list();
  }

  /** @throws ProblemError `not-found` */
  async find(clientId: string): Promise<ClientRecord> {
    const found = await this.store.find(clientId);
    if (found === undefined) throw new ProblemError('not-found', 'There is no such client.');
    return found;
  }

  /** @throws ProblemError `invalid-body` when a partner of the source does not exist */
  async create(wanted: NewClient, by: AskedBy): Promise<IssuedClient> {
    const clients = await this.#issuing(by);
    if (wanted.kind === 'partner') return clients.createPartner(wanted.name);
    if (wanted.kind === 'operator') return clients.createOperator(wanted.name, wanted.role);
    const { name, partners: audience, credential } = wanted;
    try {
      return (await clients.createSource(name, { audience, credential })) as IssuedClient;
    } catch (error) {
      if (!(error instanceof ClientRefused)) throw error;
      throw new ProblemError('invalid-body', 'A source is bound to partners that exist.', {
        errors: [{ pointer: '/partners', detail: error.message }],
      });
    }
  }

  /** @throws ProblemError `not-found`, `conflict` for a client that is no operator, or the last enabled admin */
  async changeRole(clientId: string, role: OperatorRole, by: AskedBy): Promise<ClientRecord> {
    await this.find(clientId);
    try {
      await this.#clients(by).changeRole(clientId, role);
    } catch (error) {
      throw conflictOf(error);
    }
    return this.find(clientId);
  }

  /** @throws ProblemError `not-found`, `conflict` for a client with a fixed credential, or one that was just rotated */
  async rotate(clientId: string, rotation: Rotation, by: AskedBy): Promise<IssuedClient> {
    const { credential } = await this.find(clientId);
    if (credential !== undefined)
      throw new ProblemError('conflict', 'The client has a fixed credential: create another, and disable this one.');
    try {
      return await (await this.#issuing(by)).rotateSecret(clientId, rotation);
    } catch (error) {
      throw conflictOf(error);
    }
  }

  /** @throws ProblemError `not-found`, `conflict` for the operator's own client */
  async disable(clientId: string, by: AskedBy): Promise<ClientRecord> {
    if (clientId === by.operator)
      throw new ProblemError('conflict', 'This is your own client: another admin has to disable it.');
    await this.find(clientId);
    await this.#clients(by).disable(clientId);
    return this.find(clientId);
  }

  /** @throws ProblemError `not-found` */
  async enable(clientId: string, by: AskedBy): Promise<ClientRecord> {
    await this.find(clientId);
    await this.#clients(by).enable(clientId);
    return this.find(clientId);
  }

  #clients(by: AskedBy): Clients {
    const tell: ClientAudit = (event, { clientId, kind, name, scopes }, formerRole) =>
      this.audit.report({
        event,
        ...by,
        clientId,
        kind,
        name,
        ...(kind === 'operator' ? { role: roleOf(scopes), formerRole } : {}),
      });
    return new Clients(this.store, this.keyring, randomBytes, Date.now, tell);
  }

  /** The same for secrets. @throws ProblemError when no ingress could tell the secret */
  async #issuing(by: AskedBy): Promise<Clients> {
    const fault = sealingFault(await this.redis.hgetall(keyKeys[0]), this.keyring.checks);
    if (fault !== undefined) throw new ProblemError('unavailable', fault);
    return this.#clients(by);
  }
}

const conflictOf = (error: unknown): unknown =>
  error instanceof ClientRefused ? new ProblemError('conflict', `${error.message}.`) : error;
