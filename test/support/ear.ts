import { RelayClient, type Heard } from '@relay/client';
import type { EventType } from '@relay/events';
import type { Client } from './client.js';
import { until } from './until.js';

type Of<Kind extends Heard['kind']> = Extract<Heard, { kind: Kind }>;

/** A partner that listens; it keeps all that it hears, and when. */
export class Ear {
  readonly heard: (Heard & { readonly heardAt: number })[] = [];
  readonly #ending = new AbortController();
  /** Rejects when the relay refuses. */
  readonly ended: Promise<void>;

  private constructor(url: string, { clientId, clientSecret }: Client, types: readonly EventType[]) {
    this.ended = this.#listen(new RelayClient({ url, clientId, clientSecret }), types);
    this.ended.catch(() => undefined);
  }

  /** Resolves when the stream is open. */
  static async open(url: string, partner: Client, types: readonly EventType[] = []): Promise<Ear> {
    const ear = new Ear(url, partner, types);
    await Promise.race([ear.ended, until('the stream is open', () => ear.of('open').length > 0)]);
    return ear;
  }

  of<Kind extends Heard['kind']>(kind: Kind): (Of<Kind> & { readonly heardAt: number })[] {
    return this.heard.filter((each): each is Of<Kind> & { heardAt: number } => each.kind === kind);
  }

  ids(): string[] {
    return this.of('delivery').map(({ id }) => id);
  }

  async hears(count: number): Promise<void> {
    const seen = () => [this.ids().length, this.of('cut')];
    await until(`${count} deliveries are heard`, () => this.ids().length >= count, { seen });
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.ended.catch(() => undefined);
  }

  async #listen(client: RelayClient, types: readonly EventType[]): Promise<void> {
    for await (const each of client.listen({ types, signal: this.#ending.signal }))
      this.heard.push({ ...each, heardAt: performance.now() });
  }
}
