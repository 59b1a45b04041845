import { Inject, Injectable } from '@nestjs/common';
import { readRecord, type EnvelopeRecord, type LogRecord, type ReadRecord } from '@relay/events';
import { ClientStore } from '@relay/identity';
import { untilStored } from '@relay/jobs';
import { type LogPartition, type LookUp, type LookUpResult, PartitionProgress } from '@relay/progress';
import { ThrottledLog } from '@relay/telemetry';
import { RedisWebhookView } from '@relay/webhooks';
import type { BatchPart } from '../log/batch.js';
import { WORKER_CONFIG } from '../platform/tokens.js';
import type { WorkerConfig } from '@relay/settings';
import { RunningEnvelopes } from './running-envelopes.js';

/**
 * State of an envelope. `repeat`: an earlier record of it may still run. `nobody`: no partner that it names exists.
 */
export type EnvelopeState = LookUpResult | 'repeat' | 'nobody';

/** The registrations with which records are read: the webhooks at that moment, and the partners that exist. */
@Injectable()
export class Registrations {
  /** Partners found so far. Clients are never deleted. */
  readonly #partners = new Set<string>();

  constructor(
    @Inject(RedisWebhookView) private readonly webhooks: Pick<RedisWebhookView, 'refreshTo'>,
    @Inject(ClientStore) private readonly clients: Pick<ClientStore, 'find'>,
  ) {}

  refreshTo(version: number): Promise<void> {
    return this.webhooks.refreshTo(version);
  }

  /** Returns the audiences that name partners none of whom exists. Rejects while Redis is away. */
  async strangers(audiences: readonly (readonly string[])[]): Promise<ReadonlySet<readonly string[]>> {
    const found = new Set<readonly string[]>();
    for (const audience of audiences)
      if (audience.length > 0 && !(await this.#hasPartner(audience))) found.add(audience);
    return found;
  }

  async #hasPartner(audience: readonly string[]): Promise<boolean> {
    if (audience.some((id) => this.#partners.has(id))) return true;
    for (const id of audience)
      if (id !== '' && (await this.clients.find(id))?.kind === 'partner') this.#partners.add(id);
    return audience.some((id) => this.#partners.has(id));
  }
}

/** Reads the records of a chunk and finds out what the store knows of their envelopes. */
@Injectable()
export class EnvelopeLookup {
  constructor(
    @Inject(PartitionProgress) private readonly progress: PartitionProgress,
    @Inject(Registrations) private readonly registrations: Pick<Registrations, 'refreshTo' | 'strangers'>,
    @Inject(WORKER_CONFIG) private readonly config: Pick<WorkerConfig, 'KAFKA_TOPIC_PREFIX'>,
    private readonly running: RunningEnvelopes,
    private readonly log: ThrottledLog,
  ) {}

  read({ topic }: LogPartition, records: readonly LogRecord[]): ReadRecord[] {
    return records.map((record) => readRecord(record, topic, this.config.KAFKA_TOPIC_PREFIX));
  }

  /** Looks up the ids of a chunk in one round trip, and waits until the registrations at the time of the look-up are known. */
  async find(part: BatchPart, records: readonly ReadRecord[]): Promise<Map<ReadRecord, EnvelopeState>> {
    const envelopes = records.filter((item) => item.kind === 'envelope');
    const ids = new Set<string>();
    const repeats = new Set(envelopes.filter((item) => this.#isRepeat(part, item, ids)));
    const { results } = await this.#lookUp(part.at, envelopes);
    const strangers = await untilStored(
      () => this.registrations.strangers(envelopes.map(({ envelope }) => envelope.audience)),
      this.log,
      { ...part.at },
    );
    return new Map(
      envelopes.map((item, index) => {
        const result = results[index] as LookUpResult;
        if (result !== 'open') return [item, result];
        return [item, repeats.has(item) ? 'repeat' : strangers.has(item.envelope.audience) ? 'nobody' : result];
      }),
    );
  }

  /** Looks up an envelope whose first record was running at the look-up of its chunk and has been marked since. */
  async findAgain(at: LogPartition, item: EnvelopeRecord): Promise<LookUpResult> {
    const { results } = await this.#lookUp(at, [item]);
    return results[0] as LookUpResult;
  }

  /** @param earlier the ids of the earlier records of the chunk */
  #isRepeat(part: BatchPart, { envelope: { id } }: EnvelopeRecord, earlier: Set<string>): boolean {
    if (earlier.has(id)) return true;
    earlier.add(id);
    return this.running.find(id) !== undefined || part.hashOf(id) !== undefined;
  }

  #lookUp(at: LogPartition, items: readonly EnvelopeRecord[]): Promise<LookUp> {
    const entries = items.map(({ envelope }) => ({ id: envelope.id, hash: envelope.contentHash }));
    return untilStored(
      async () => {
        const found = await this.progress.lookUp(at, entries);
        await this.registrations.refreshTo(found.registryVersion);
        return found;
      },
      this.log,
      { ...at },
    );
  }
}
