import type { PerShard } from '@relay/redis';
import type { ShardHistoryWriter } from './shard-history-writer.js';

/** Writes the history of all shards, each by itself: while one is away, only its own lines wait. */
export class HistoryWriter {
  constructor(private readonly parts: PerShard<ShardHistoryWriter>) {}

  /** That of the shard of an envelope. */
  of(envelopeId: string): Pick<ShardHistoryWriter, 'delivered' | 'failed' | 'answered'> {
    return this.parts.of(envelopeId);
  }

  /** Writes what waits once. */
  async close(): Promise<void> {
    await Promise.all(this.parts.all.map((part) => part.close()));
  }
}
