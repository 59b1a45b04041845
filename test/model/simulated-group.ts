import type { LogBounds, TopicIds } from '../../apps/worker/src/log/log-reader-options.js';
import type { Consumer, EachBatchPayload, KafkaMessage } from 'kafkajs';

export const TOPIC = 'task.created';
/** An event type that an operator applies within a history. */
export const APPLIED = 'order.paid';
/** The partitions of both topics. The applied type has the last one, so that a number names one partition. */
export const PARTITIONS = [0, 1, 2] as const;
export const APPLIED_PARTITION = 2;
export const topicOf = (partition: number): string => (partition === APPLIED_PARTITION ? APPLIED : TOPIC);

/** The log and the group that reads it: what the brokers hold, which no fault of a history takes back. */
export class SimulatedGroup {
  readonly log: KafkaMessage[][] = PARTITIONS.map(() => []);
  readonly committed = PARTITIONS.map(() => -1);
  /** Member that each partition is meant for; whoever has not joined since then is a zombie. */
  readonly meantFor: number[] = PARTITIONS.map(() => 0);
  generation = 0;
  /** How often the topic was deleted and created anew. */
  made = 0;
  readonly topicIds: TopicIds = { of: async () => this.topicId };

  get topicId(): string {
    return `topic ${this.made}`;
  }

  /** What Kafka's admin client tells. */
  readonly bounds: LogBounds = {
    fetchOffsets: async ({ topics = [] }) =>
      topics.map((topic) => ({
        topic,
        partitions: PARTITIONS.filter((partition) => topicOf(partition) === topic).map((partition) => ({
          partition,
          offset: String(this.committed[partition]),
          metadata: null,
        })),
      })),
    fetchTopicOffsets: async () =>
      PARTITIONS.map((partition) => {
        const high = String(this.log[partition]?.length);
        return { partition, offset: high, high, low: '0' };
      }),
    fetchTopicOffsetsByTimestamp: async (_topic: string, time?: number) =>
      PARTITIONS.map((partition) => {
        const messages = this.log[partition] ?? [];
        const first = messages.findIndex(({ timestamp }) => Number(timestamp) >= (time ?? 0));
        return { partition, offset: String(first === -1 ? messages.length : first) };
      }),
  };

  /** The topic is deleted and created anew. The group goes on, and a member that fetches later meets the new log. */
  makeAnew(): void {
    this.made += 1;
    for (const messages of this.log) messages.length = 0;
  }

  give(partition: number, member: number): void {
    this.meantFor[partition] = member;
    this.generation += 1;
  }
}

/** The member tells of its changes. */
interface Member {
  /** It was counted as a member, by a heartbeat or a join. */
  counted(): void;
  /** It left the group, to join again with other topics. */
  left(): void;
  /** It joins again. */
  cameBack(): void;
}

type Listener = (event: { payload: { memberAssignment: Record<string, number[]> } }) => void;

/**
 * A member as kafkajs is one (2.2.4): positions begin again at the committed offsets with each join, a seek takes effect
 * with the next fetch, and what was fetched before a seek or a join is handed out all the same.
 */
export class SimulatedConsumer {
  readonly events = {
    FETCH: 'fetch',
    GROUP_JOIN: 'join',
    HEARTBEAT: 'heartbeat',
    CRASH: 'crash',
    REBALANCING: 'rebalancing',
  };
  readonly #listeners = new Map<string, Listener>();
  readonly #positions = new Map<number, number>();
  readonly #seeks = new Map<number, number>();
  readonly #fetched = new Map<number, { readonly from: number; readonly messages: KafkaMessage[] }>();
  readonly #handling = new Map<number, Promise<void>>();
  #eachBatch: (payload: EachBatchPayload) => Promise<void> = async () => undefined;
  #generation = -1;
  #assigned: number[] = [];
  #topics: readonly string[] = [];
  /** A member that left runs again with other topics. */
  #state: 'new' | 'running' | 'left' = 'new';

  constructor(
    private readonly group: SimulatedGroup,
    private readonly member: number,
    private readonly trace: (line: string) => void,
    private readonly told: Member,
  ) {}

  get asConsumer(): Consumer {
    return this as unknown as Consumer;
  }

  get isCurrent(): boolean {
    return this.#generation === this.group.generation;
  }

  on(event: string, listener: Listener): void {
    this.#listeners.set(event, listener);
  }

  seek({ partition, offset }: { partition: number; offset: string }): void {
    if (this.#state === 'left') throw new Error('the consumer does not run');
    this.#seeks.set(partition, Number(offset));
  }

  async commitOffsets(offsets: readonly { partition: number; offset: string }[]): Promise<void> {
    if (!this.isCurrent) throw new Error('the group has another generation');
    for (const { partition, offset } of offsets) this.group.committed[partition] = Number(offset);
  }

  async connect(): Promise<void> {}
  async subscribe({ topics }: { topics: readonly string[] }): Promise<void> {
    this.#topics = topics;
  }
  pause(): void {}

  /** Leaves the group once nothing is being handed out; what was fetched or sought is forgotten. */
  async stop(): Promise<void> {
    await Promise.all(this.#handling.values());
    this.#state = 'left';
    this.#generation = -1;
    this.#assigned = [];
    this.#seeks.clear();
    this.#fetched.clear();
    this.trace(`worker ${this.member} leaves the group`);
    this.told.left();
  }

  async run({ eachBatch }: { eachBatch: (payload: EachBatchPayload) => Promise<void> }): Promise<void> {
    this.#eachBatch = eachBatch;
    if (this.#state === 'left') this.told.cameBack();
    this.#state = 'running';
  }

  /** A heartbeat that succeeds, or shows that the group was divided anew: then this member joins again. */
  beat(): void {
    if (this.#state !== 'running') return undefined;
    if (this.isCurrent) return this.#tell('heartbeat');
    this.#generation = this.group.generation;
    this.#assigned = PARTITIONS.filter(
      (partition) => this.group.meantFor[partition] === this.member && this.#topics.includes(topicOf(partition)),
    );
    for (const partition of this.#assigned)
      this.#positions.set(partition, Math.max(0, this.group.committed[partition] ?? 0));
    this.trace(`worker ${this.member} joins and gets ${JSON.stringify(this.#assigned)}`);
    return this.#tell('join');
  }

  fetch(partition: number, count: number): void {
    if (!this.#assigned.includes(partition) || this.#fetched.has(partition)) return;
    const from = this.#seeks.get(partition) ?? this.#positions.get(partition) ?? 0;
    this.#seeks.delete(partition);
    this.#positions.set(partition, from);
    const messages = this.group.log[partition]?.slice(from, from + count) ?? [];
    if (messages.length > 0) this.#fetched.set(partition, { from, messages });
  }

  /** Starts handing out what was fetched. */
  hand(partition: number): void {
    const fetched = this.#fetched.get(partition);
    if (fetched === undefined || this.#handling.has(partition)) return;
    const { from, messages } = fetched;
    this.trace(`worker ${this.member} hands out ${messages.map(({ offset }) => `${partition}/${offset}`).join(' ')}`);
    const payload = {
      batch: {
        topic: topicOf(partition),
        partition,
        messages,
        rawMessages: messages,
        fetchedOffset: String(from),
        highWatermark: String(this.group.log[partition]?.length),
        lastOffset: () => messages.at(-1)?.offset,
      },
      isStale: () => this.#seeks.has(partition),
      resolveOffset: (offset: string) => this.#positions.set(partition, Number(offset) + 1),
      heartbeat: async () => {
        if (!this.isCurrent) throw new Error('the group is rebalancing');
        this.#tell('heartbeat');
      },
    };
    const over = (): void => {
      this.#handling.delete(partition);
      this.#fetched.delete(partition);
    };
    // kafkajs takes a failed heartbeat from here and joins again, which is the history's to say.
    this.#handling.set(partition, this.#eachBatch(payload as unknown as EachBatchPayload).then(over, over));
  }

  #tell(event: string): void {
    this.told.counted();
    const memberAssignment: Record<string, number[]> = {};
    for (const partition of this.#assigned) (memberAssignment[topicOf(partition)] ??= []).push(partition);
    this.#listeners.get(event)?.({ payload: { memberAssignment } });
  }
}
