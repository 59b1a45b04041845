import kafkajs from 'kafkajs';
import type { Assigner, Batch, Consumer, EachBatchPayload, PartitionAssigner } from 'kafkajs';
import { hasCode } from './kafka-errors.adapter.js';
import { driverOf } from './kafka-client.adapter.js';
import type { BatchInHand, CommittedOffset, FetchedBatch, Kafka } from './kafka.port.js';

/** Settings of a member, in milliseconds and bytes. Kafka documents them under similar names. */
interface GroupSettings {
  readonly groupId: string;
  readonly assigner: GroupAssigner;
  readonly sessionTimeout: number;
  readonly rebalanceTimeout?: number;
  readonly heartbeatInterval?: number;
  readonly maxWaitTimeInMs: number;
  readonly maxBytesPerPartition?: number;
  readonly metadataMaxAge?: number;
  /** Number of partitions whose batches are processed at the same time. */
  readonly concurrency: number;
  readonly retry: Readonly<{
    initialRetryTime: number;
    maxRetryTime?: number;
    retries: number;
    /** Whether the member joins again after an error that retries did not solve. */
    restartOnFailure: () => Promise<boolean>;
  }>;
}

/** Divides the partitions among the members of a group. */
export type GroupAssigner = PartitionAssigner;

export interface GroupListener {
  /** The group assigned these partitions to the member, by topic. A `seek` at this moment applies to the first fetch. */
  joined(assignment: Readonly<Record<string, number[]>>): void;
  /** Gets a batch with records. When the promise resolves, the member reads on from the last resolved offset. */
  batch(inHand: BatchInHand): Promise<void>;
  /** Reports a batch that has only markers and records of aborted transactions, at the offsets `[from, end)`. */
  foundEmpty(topic: string, partition: number, from: number, end: number): void;
  /** The member has stopped. @param isFinal whether it does not join again by itself */
  crashed(error: Error, isFinal: boolean): void;
  /** A fetch was answered. */
  fetched?(): void;
  /** A heartbeat was answered. */
  beaten?(): void;
  rebalancing?(): void;
}

/** One member of a consumer group. It commits offsets only when `commit` is called. */
export class GroupConsumer {
  readonly #consumer: Consumer;
  readonly #concurrency: number;
  #batch: GroupListener['batch'] = () => Promise.resolve();

  constructor(kafka: Kafka, { assigner, concurrency, ...settings }: GroupSettings) {
    this.#concurrency = concurrency;
    this.#consumer = driverOf(kafka).consumer({
      ...settings,
      partitionAssigners: [assigner],
      allowAutoTopicCreation: false,
    });
  }

  /** Sets the listener. It must be called before `run`; otherwise a join may be missed. */
  hear(listener: GroupListener): void {
    this.#batch = (inHand) => listener.batch(inHand);
    const { FETCH, GROUP_JOIN, HEARTBEAT, CRASH, REBALANCING, END_BATCH_PROCESS } = this.#consumer.events;
    this.#consumer.on(FETCH, () => listener.fetched?.());
    this.#consumer.on(GROUP_JOIN, ({ payload }) => listener.joined(payload.memberAssignment));
    this.#consumer.on(HEARTBEAT, () => listener.beaten?.());
    this.#consumer.on(REBALANCING, () => listener.rebalancing?.());
    this.#consumer.on(CRASH, ({ payload }) => listener.crashed(payload.error, !payload.restart));
    // kafkajs calls `eachBatch` only for a batch with records, so batches without records are found by this event.
    this.#consumer.on(END_BATCH_PROCESS, ({ payload: { topic, partition, batchSize, firstOffset, lastOffset } }) => {
      if (batchSize === 0 && firstOffset !== null)
        listener.foundEmpty(topic, partition, Number(firstOffset), Number(lastOffset) + 1);
    });
  }

  async connect(topics: readonly string[]): Promise<void> {
    await this.#consumer.connect();
    await this.#consumer.subscribe({ topics: [...topics], fromBeginning: true });
  }

  /** Joins the group and reads. */
  async run(): Promise<void> {
    await this.#consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: this.#concurrency,
      eachBatch: (payload) => this.#batch(payload as WholePayload),
    });
  }

  /** Leaves the group, and joins it again with these topics. */
  async resubscribe(topics: readonly string[]): Promise<void> {
    await this.#consumer.stop();
    await this.#consumer.subscribe({ topics: [...topics], fromBeginning: true });
    await this.run();
  }

  /** Makes the next fetch of the partition begin at this offset. @throws Error if the member does not run */
  seek(topic: string, partition: number, offset: number): void {
    this.#consumer.seek({ topic, partition, offset: String(offset) });
  }

  commit(offsets: readonly CommittedOffset[]): Promise<void> {
    return this.#consumer.commitOffsets([...offsets]);
  }

  /** Stops fetching these topics, but stays in the group. @throws Error if the member does not run */
  pause(topics: readonly string[]): void {
    this.#consumer.pause(topics.map((topic) => ({ topic })));
  }

  /** Leaves the group. */
  leave(): Promise<void> {
    return this.#consumer.disconnect();
  }
}

/** The types of kafkajs lack two members of a batch. */
type WholePayload = EachBatchPayload & { readonly batch: Batch & FetchedBatch };

/**
 * Returns an assigner that divides partitions round robin and whose name belongs to this deployment. The broker refuses a
 * member that has no assigner in common with the group (INCONSISTENT_GROUP_PROTOCOL). So workers of two deployments never
 * share the partitions of one group.
 *
 * After a change of the event types, members subscribe to different topics for a while. A topic is assigned only to members
 * that subscribe to it. The leader of the group knows only the partitions of its own topics. So the partitions of other
 * topics are not assigned before the leader subscribes to these topics too.
 */
export const assignerOf =
  (deployment: string): GroupAssigner =>
  (config) => ({
    ...kafkajs.PartitionAssigners.roundRobin(config),
    name: `round-robin of ${deployment}`,
    assign: ({ members, topics }) => Promise.resolve(dividedAmong(members, topics, config.cluster)),
  });

function dividedAmong(
  members: Parameters<Assigner['assign']>[0]['members'],
  topics: readonly string[],
  cluster: Parameters<GroupAssigner>[0]['cluster'],
): Awaited<ReturnType<Assigner['assign']>> {
  const divided = members
    .map(({ memberId, memberMetadata }) => ({
      memberId,
      topics: new Set(kafkajs.AssignerProtocol.MemberMetadata.decode(memberMetadata)?.topics),
      assignment: {} as Record<string, number[]>,
    }))
    .toSorted((a, b) => (a.memberId < b.memberId ? -1 : 1));
  let next = 0;
  for (const topic of topics) {
    const subscribed = divided.filter((member) => member.topics.has(topic));
    for (const { partitionId } of cluster.findTopicPartitionMetadata(topic)) {
      const member = subscribed[next % subscribed.length];
      next += 1;
      if (member !== undefined) (member.assignment[topic] ??= []).push(partitionId);
    }
  }
  return divided.map(({ memberId, assignment }) => ({
    memberId,
    memberAssignment: kafkajs.AssignerProtocol.MemberAssignment.encode({
      version: 1,
      assignment,
      userData: Buffer.alloc(0),
    }),
  }));
}

/** Whether the broker refused a join because the group's members have other assigners. */
export const isOtherDeployment = (error: unknown): boolean => hasCode(error, 'INCONSISTENT_GROUP_PROTOCOL');

/** Returns an assigner that assigns exactly these partitions to each member; the other partitions are not read. */
export const onlyPartitions =
  (places: readonly { readonly topic: string; readonly partition: number }[]): GroupAssigner =>
  () => ({
    name: 'only-partitions',
    version: 1,
    assign: ({ members }) => {
      const assignment: Record<string, number[]> = {};
      for (const { topic, partition } of places) (assignment[topic] ??= []).push(partition);
      return Promise.resolve(
        members.map(({ memberId }) => ({
          memberId,
          memberAssignment: kafkajs.AssignerProtocol.MemberAssignment.encode({
            version: 1,
            assignment,
            userData: Buffer.alloc(0),
          }),
        })),
      );
    },
    protocol: ({ topics }) => ({
      name: 'only-partitions',
      metadata: kafkajs.AssignerProtocol.MemberMetadata.encode({ version: 1, topics, userData: Buffer.alloc(0) }),
    }),
  });
