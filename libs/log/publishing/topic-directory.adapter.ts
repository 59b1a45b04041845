import { answeredWithin, codeOf, type Kafka, type KafkaAdmin } from '@relay/kafka';
import { reasonOf, type Log } from '@relay/telemetry';
import { PublishFailed } from './publisher.port.js';

/** Node id of the leader of each partition; -1 while a partition has no leader. */
type Leaders = readonly number[];

const CONNECTING = 'connecting';
/**
 * Wait in ms between two reads while the brokers answer. This wait and `ASK_MS` together must be below the 30 s within which
 * readiness must report frozen brokers.
 */
const WHEN_WELL_MS = 8_000;
/** Maximum wait in ms for an answer: enough for two frozen brokers, 5 s each, and for the answer of a third. */
const ASK_MS = 12_000;
const WHEN_FAILED_MS = 1_000;

/**
 * The topics that exist, with their partitions and leaders. A topic is read at its first use. All used topics are read again
 * every 8 s, or every second while the brokers do not answer. Each read opens a new connection, because the driver hides
 * errors on a connection that is kept open. Readiness reports the last result. It never creates a topic.
 */
export class TopicDirectory {
  readonly #topics = new Map<string, Leaders>();
  readonly #looking = new Map<string, Promise<number>>();
  #timer: NodeJS.Timeout | undefined;
  #refreshing: Promise<void> | undefined;
  #fault: string | undefined = CONNECTING;
  /**
   * Id of the Kafka cluster of the deployment; null if it is not known. Brokers of another cluster count as not answering.
   */
  cluster: string | null = null;
  #isClosed = false;

  constructor(
    private readonly kafka: Kafka,
    private readonly log: Log,
    /** Called when the brokers answer again after a failure. */
    private readonly onBack: () => void,
  ) {
    void this.refresh();
  }

  /** Why the brokers do not answer; undefined if they do. */
  get fault(): string | undefined {
    return this.#fault;
  }

  partitions(topic: string): number | undefined {
    return this.#topics.get(topic)?.length;
  }

  leaderOf(topic: string, partition: number): number {
    return this.#topics.get(topic)?.[partition] ?? -1;
  }

  /**
   * Reads a topic at its first use and returns its number of partitions.
   * @throws PublishFailed if no broker answers or the topic does not exist
   */
  async look(topic: string): Promise<number> {
    if (this.#fault === CONNECTING) await this.#refreshing;
    if (this.#fault !== undefined) throw away(this.#fault);
    let looking = this.#looking.get(topic);
    if (looking === undefined) this.#looking.set(topic, (looking = this.#look(topic)));
    return looking;
  }

  /**
   * Reads these topics before their first use.
   * @throws PublishFailed if no broker answers
   */
  async learn(topics: readonly string[]): Promise<void> {
    try {
      await this.#ask((admin) => this.#read(admin, topics));
    } catch (error) {
      throw away(reasonOf(error), error);
    }
    if (this.#fault !== undefined) await this.refresh();
    if (this.#fault !== undefined) throw away(this.#fault);
  }

  /** Reads all used topics again now. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
      if (this.#isClosed) return;
      clearTimeout(this.#timer);
      const waitMs = this.#fault === undefined ? WHEN_WELL_MS : WHEN_FAILED_MS;
      this.#timer = setTimeout(() => void this.refresh(), waitMs).unref();
    });
    return this.#refreshing;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #look(topic: string): Promise<number> {
    try {
      const leaders = (await this.#ask((admin) => leadersOf(admin, [topic]))).get(topic) ?? [];
      this.#topics.set(topic, leaders);
      this.#looking.delete(topic);
      return leaders.length;
    } catch (error) {
      // The failed result is kept for a second, so a missing topic is not asked for with each record.
      setTimeout(() => this.#looking.delete(topic), WHEN_FAILED_MS).unref();
      throw isMissing(error) ? missing(topic, error) : away(reasonOf(error), error);
    }
  }

  async #refresh(): Promise<void> {
    try {
      await this.#ask(async (admin) => {
        const { clusterId } = await admin.describeCluster();
        if (this.cluster !== null && clusterId && clusterId !== this.cluster)
          throw new Error(`the brokers belong to Kafka cluster ${clusterId}, and the deployment to ${this.cluster}`);
        await this.#read(admin, [...this.#topics.keys()]);
      });
      if (this.#fault === undefined) return;
      this.#fault = undefined;
      this.log.info('kafka.connected', 'The brokers answer');
      this.onBack();
    } catch (error) {
      if (this.#isClosed) return;
      const reason = reasonOf(error);
      if (this.#fault !== reason)
        this.log.warn('kafka.away', 'The brokers do not answer; the process asks again every second', { reason });
      this.#fault = reason;
    }
  }

  /**
   * Reads topics. If one topic is faulty, the driver rejects the answer for all of them; each topic is then read separately.
   */
  async #read(admin: KafkaAdmin, topics: readonly string[]): Promise<void> {
    try {
      (await leadersOf(admin, topics)).forEach((leaders, topic) => this.#topics.set(topic, leaders));
    } catch {
      await this.#readEach(admin, topics);
    }
  }

  async #readEach(admin: KafkaAdmin, topics: readonly string[]): Promise<void> {
    for (const topic of topics) {
      try {
        this.#topics.set(topic, (await leadersOf(admin, [topic])).get(topic) ?? []);
      } catch (error) {
        if (isMissing(error)) this.#topics.delete(topic);
      }
    }
  }

  async #ask<T>(question: (admin: KafkaAdmin) => Promise<T>): Promise<T> {
    const admin = this.kafka.admin({ retry: { retries: 0 } });
    const answer = admin.connect().then(() => question(admin));
    // Waits for `connect` to end before it disconnects; otherwise the driver goes on connecting.
    const leave = (): unknown => admin.disconnect().catch(() => undefined);
    answer.then(leave, leave);
    return answeredWithin(ASK_MS, answer);
  }
}

async function leadersOf(admin: KafkaAdmin, topics: readonly string[]): Promise<Map<string, Leaders>> {
  const found = new Map<string, Leaders>();
  if (topics.length === 0) return found; // an empty list means all topics
  for (const { name, partitions } of (await admin.fetchTopicMetadata({ topics: [...topics] })).topics) {
    const leaders: number[] = Array.from({ length: partitions.length }, () => -1);
    for (const { partitionId, leader } of partitions) leaders[partitionId] = leader;
    found.set(name, leaders);
  }
  return found;
}

const away = (reason: string, cause?: unknown): PublishFailed =>
  new PublishFailed('unavailable', `Kafka is away: ${reason}`, cause);

/** A missing topic is an outage for the sender: the record is valid, and is accepted after the topic was created. */
const missing = (topic: string, cause: unknown): PublishFailed =>
  new PublishFailed('unavailable', `There is no topic ${topic}: make it with \`relay topics create\``, cause);

const isMissing = (error: unknown): boolean => codeOf(error) === 'UNKNOWN_TOPIC_OR_PARTITION';
