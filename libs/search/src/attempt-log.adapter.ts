import { deliveryAttemptsTopic, type LogRecord } from '@relay/events';
import { answeredWithin, rangesWithin, type FetchedPart, type KeptAdmin, type LogFetcher } from '@relay/kafka';

/** Bytes fetched at once: what is unpacked in one turn of the event loop. */
const FETCH_BYTES = 256 * 1024;
const WAIT_MS = 500;
/** A frozen broker answers nothing. */
const ANSWER_MS = 10_000;

/** Where a partition begins for an index of a time: at `from`, the first offset that is not older; `low` is the first that is kept. */
export interface LogBounds {
  readonly partition: number;
  readonly low: number;
  readonly from: number;
  readonly end: number;
}

/** `relay.delivery-attempts`, as the index reads it. */
export class AttemptLog {
  readonly topic: string;

  constructor(
    private readonly admin: KeptAdmin,
    private readonly fetcher: Pick<LogFetcher, 'fetch' | 'topicIds' | 'close'>,
    topicPrefix: string,
  ) {
    this.topic = deliveryAttemptsTopic(topicPrefix);
  }

  /** Its cluster and topic, by name and, where the brokers know ids, by its id: a topic that is made anew has another one. */
  async name(): Promise<string> {
    const { clusterId } = await this.admin.ask((admin) => admin.describeCluster());
    const ids = await this.fetcher.topicIds([this.topic]);
    if (!ids.has(this.topic)) throw new Error(`Kafka has no topic ${this.topic} at the moment`);
    return [clusterId, this.topic, ids.get(this.topic)].join(' ').trim();
  }

  async bounds(since: number): Promise<LogBounds[]> {
    return this.admin.ask(async (admin) => {
      const lows = new Map(
        (await admin.fetchTopicOffsets(this.topic)).map(({ partition, low }) => [partition, Number(low)]),
      );
      const ranges = await rangesWithin(admin, this.topic, { since, until: undefined });
      return ranges.map(({ partition, from, end }) => ({ partition, from, end, low: lows.get(partition) ?? from }));
    });
  }

  fetch(from: ReadonlyMap<number, number>): Promise<FetchedPart[]> {
    const bounds = { maxBytes: FETCH_BYTES, waitMs: WAIT_MS };
    return answeredWithin(ANSWER_MS, this.fetcher.fetch(this.topic, from, bounds));
  }

  /** The record at this offset, if it is one. */
  async at(partition: number, offset: number): Promise<LogRecord | undefined> {
    const asked = this.fetcher.fetch(this.topic, new Map([[partition, offset]]), { maxBytes: 1, waitMs: 0 });
    const [part] = await answeredWithin(ANSWER_MS, asked);
    return part?.records.find((record) => record.offset === offset);
  }

  close(): Promise<void> {
    return this.fetcher.close();
  }
}
