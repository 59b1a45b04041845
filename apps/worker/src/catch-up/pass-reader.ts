import { Inject, Injectable } from '@nestjs/common';
import { readRangeKey } from '@relay/progress';
import { RedisWebhookView } from '@relay/webhooks';
import type { CatchUpPartition } from '../log/catch-up-partition.js';
import { LogArchive } from '../log/log-archive.adapter.js';
import { dropExpired, dropGap } from '../parking/expired-ranges.js';
import { RetentionReports } from '../parking/retention-reports.js';
import type { CatchUpBatch, CatchUpPass } from './catch-up-pass.js';
import { CatchUpRecords } from './catch-up-records.js';
import { CatchUpThrottle } from './catch-up-throttle.js';
import { piecesOf } from './pieces.js';

/** Reads the log for a pass, throttled, and finds the deliveries of its members. */
@Injectable()
export class PassReader {
  constructor(
    @Inject(LogArchive) private readonly archive: Pick<LogArchive, 'read' | 'lowest'>,
    @Inject(CatchUpThrottle) private readonly throttle: Pick<CatchUpThrottle, 'pass' | 'next'>,
    @Inject(RedisWebhookView) private readonly webhooks: Pick<RedisWebhookView, 'find' | 'refresh'>,
    private readonly records: CatchUpRecords,
    @Inject(RetentionReports) private readonly reports: Pick<RetentionReports, 'expired'>,
  ) {}

  /**
   * Reads the offsets `[from, end)`. If retention has dropped the first of them, reads nothing and removes the lost ones from the
   * ranges.
   */
  async read(
    pass: CatchUpPass,
    from: number,
    end: number,
    take: (batch: CatchUpBatch) => Promise<void>,
  ): Promise<void> {
    const { partition, members } = pass;
    const lowest = await this.archive.lowest(partition.at);
    if (from < lowest) return this.#drop(pass, lowest);
    if (!(from < end)) return;
    await this.throttle.pass(async (begun) => {
      pass.assertGoesOn();
      await this.archive.read({ ...partition.at, from, end }, async (records, gaps) => {
        begun();
        for (const { chunk, gap } of piecesOf(records, gaps)) {
          await this.throttle.next();
          await this.webhooks.refresh();
          if (chunk.length > 0) await take(await this.records.deliveriesOf(pass, chunk));
          if (gap === undefined) continue;
          for (const [key, range] of members) this.#expired(partition, key, dropGap(partition, range, gap));
        }
      });
    });
    for (const range of members.values()) range.passed(end);
  }

  /** Reports the records that waited in a log that is gone. */
  tellExpired(partition: CatchUpPartition): void {
    const { shards = 1 } = partition.at;
    for (const [key, records] of partition.takeExpired()) this.#expired(partition, key, Math.ceil(records / shards));
  }

  #drop({ partition, members }: CatchUpPass, lowest: number): void {
    for (const key of members.keys()) this.#expired(partition, key, dropExpired(partition, key, lowest));
  }

  #expired({ at }: CatchUpPartition, key: string, records: number): void {
    const webhook = this.webhooks.find(readRangeKey(key).webhookId);
    if (webhook !== undefined && records > 0) this.reports.expired(webhook, at, records);
  }
}
