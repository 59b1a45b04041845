import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Audit } from '@relay/audit';
import {
  clientAudit,
  type ClientCommand,
  type ClientRecord,
  ClientRefused,
  Clients,
  ClientStore,
  type IssuedClient,
  type IssuedSecret,
  type NewClient,
  type OperatorRole,
} from '@relay/identity';
import { Keyring } from '@relay/keyring';
import { ProblemError } from '@relay/problem';
import { keyKeys, RegistryView, sealingFault } from '@relay/registry';
import { Redis } from 'ioredis';
import type { Actor } from '../access/operator-guard.js';

/** Creates and changes clients for an operator. Each change is reported on `relay.operations` first. */
@Injectable()
export class ClientDesk {
  readonly #store: ClientStore;

  constructor(
    private readonly redis: Redis,
    registry: RegistryView,
    private readonly keyring: Keyring,
    private readonly audit: Audit,
  ) {
    this.#store = new ClientStore(redis, registry.of<ClientCommand>('client'));
  }

  list(): Promise<ClientRecord[]> {
    return this.#store.list();
  }

  /** @throws ProblemError `not-found` */
  async find(clientId: string): Promise<ClientRecord> {
    const found = await this.#store.find(clientId);
    if (found === undefined) throw new ProblemError('not-found', 'There is no such client.');
    return found;
  }

  /** @throws ProblemError `invalid-body` for an unknown partner, or a credential that is malformed or another source's */
  async create(wanted: NewClient, by: Actor): Promise<IssuedClient> {
    await this.assertKeys();
    try {
      return await this.#clients(by).create(wanted);
    } catch (error) {
      if (!(error instanceof ClientRefused)) throw error;
      throw new ProblemError('invalid-body', `${error.message}.`, {
        errors: [{ pointer: `/${error.member ?? 'credential'}`, detail: error.message }],
      });
    }
  }

  /** @throws ProblemError `not-found`, `conflict` for a client that is no operator, or the last enabled admin */
  changeRole(clientId: string, role: OperatorRole, by: Actor): Promise<ClientRecord> {
    return this.#changed(clientId, () => refusedAsConflict(this.#clients(by).changeRole(clientId, role)));
  }

  /** @throws ProblemError `not-found`, `conflict` for a client that is no source */
  changeTypes(clientId: string, types: readonly string[], by: Actor): Promise<ClientRecord> {
    return this.#changed(clientId, () => refusedAsConflict(this.#clients(by).changeTypes(clientId, types)));
  }

  /** @throws ProblemError `not-found`, `conflict` for a client with a fixed credential, or one that was just rotated */
  async rotate(clientId: string, rotation: Parameters<Clients['rotateSecret']>[1], by: Actor): Promise<IssuedSecret> {
    const { credential } = await this.find(clientId);
    if (credential !== undefined)
      throw new ProblemError('conflict', 'The client has a fixed credential: create another, and disable this one.');
    await this.assertKeys();
    return refusedAsConflict(this.#clients(by).rotateSecret(clientId, rotation));
  }

  /** @throws ProblemError `not-found`, `conflict` for the operator's own client */
  async disable(clientId: string, by: Actor): Promise<ClientRecord> {
    if (clientId === by.operator)
      throw new ProblemError('conflict', 'This is your own client: another admin has to disable it.');
    return this.#changed(clientId, () => this.#clients(by).disable(clientId));
  }

  /** @throws ProblemError `not-found` */
  enable(clientId: string, by: Actor): Promise<ClientRecord> {
    return this.#changed(clientId, () => this.#clients(by).enable(clientId));
  }

  async #changed(clientId: string, change: () => Promise<unknown>): Promise<ClientRecord> {
    await this.find(clientId);
    await change();
    return this.find(clientId);
  }

  #clients(by: Actor): Clients {
    const tell = clientAudit((facts) => this.audit.report({ ...facts, ...by }));
    return new Clients(this.#store, this.keyring, randomBytes, Date.now, tell);
  }

  /** @throws ProblemError if other processes cannot read values that this process seals or hashes */
  async assertKeys(): Promise<void> {
    const fault = sealingFault(await this.redis.hgetall(keyKeys[0]), this.keyring.checks);
    if (fault !== undefined) throw new ProblemError('unavailable', fault);
  }
}

const refusedAsConflict = <T>(work: Promise<T>): Promise<T> =>
  work.catch((error: unknown) => {
    throw error instanceof ClientRefused ? new ProblemError('conflict', `${error.message}.`) : error;
  });
