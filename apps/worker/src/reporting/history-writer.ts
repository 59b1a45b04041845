import type { PerShard } from '@relay/redis';
import type { ShardHistoryWriter } from './shard-history-writer.js';

/** Writes the history of all shards, each independently: while one is away, only its own lines wait. */
export class HistoryWriter {
  constructor(private readonly parts: PerShard<ShardHistoryWriter>) {}

  /** Returns the writer of an envelope's shard. */
  of(envelopeId: string): Pick<ShardHistoryWriter, 'delivered' | 'failed' | 'answered'> {
    return this.parts.of(envelopeId);
  }

  /** Writes the waiting lines once. */
  async close(): Promise<void> {
    await Promise.all(this.parts.all.map((part) => part.close()));
  }
}
