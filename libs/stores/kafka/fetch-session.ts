/** Partitions of a topic in a fetch request. Offsets are texts, as in kafkajs. */
export interface FetchedTopic {
  readonly topic: string;
  readonly partitions: readonly Readonly<{ partition: number; fetchOffset: string; maxBytes: number }>[];
}

/** The members of a fetch request that depend on the session. */
export interface SessionRequest {
  readonly sessionId: number;
  readonly sessionEpoch: number;
  /** The partitions that the broker does not know at this offset yet. */
  readonly topics: readonly FetchedTopic[];
  /** The partitions that the broker must leave out from now on. */
  readonly forgottenTopics: readonly { readonly topic: string; readonly partitions: readonly number[] }[];
}

/** The members of an answer about the session. A broker before Kafka 1.1 returns no `sessionId`. */
export interface SessionAnswer {
  readonly errorCode?: number;
  readonly sessionId?: number;
}

const NO_SESSION = 0;
/** This epoch requests a new session. */
const INITIAL_EPOCH = 0;
/** This epoch requests an answer without a session. */
const FINAL_EPOCH = -1;
const MAX_EPOCH = 2 ** 31 - 1;

/**
 * The fetch session of a consumer with one broker (KIP-227). The broker remembers the partitions and their offsets. So a
 * request contains only the partitions that changed, and an answer contains only the partitions with news. After any error,
 * the next request contains all partitions.
 */
export class FetchSession {
  #id = NO_SESSION;
  #epoch = INITIAL_EPOCH;
  /** Offsets that the broker knows, by topic and partition. */
  #known = new Map<string, Map<number, string>>();
  #isAsking = false;

  /** Returns the request for these partitions. While another request is under way, this is a request without a session. */
  request(topics: readonly FetchedTopic[]): SessionRequest {
    if (this.#isAsking) return { sessionId: NO_SESSION, sessionEpoch: FINAL_EPOCH, topics, forgottenTopics: [] };
    this.#isAsking = true;
    const asked = new Map(topics.map(({ topic, partitions }) => [topic, offsetsOf(partitions)]));
    const isNew = this.#epoch === INITIAL_EPOCH;
    const request = {
      sessionId: this.#id,
      sessionEpoch: this.#epoch,
      topics: isNew ? topics : this.#changed(topics),
      forgottenTopics: isNew ? [] : this.#forgotten(asked),
    };
    this.#known = asked;
    return request;
  }

  /** Handles the answer to a request. */
  answered({ sessionEpoch }: SessionRequest, { errorCode = 0, sessionId = NO_SESSION }: SessionAnswer): void {
    if (sessionEpoch === FINAL_EPOCH) return;
    this.#isAsking = false;
    if (errorCode !== 0 || sessionId === NO_SESSION) return this.#end();
    this.#id = sessionId;
    this.#epoch = this.#epoch === MAX_EPOCH ? 1 : this.#epoch + 1;
  }

  /** Handles a request that got no answer, or got an answer with the error of a partition. */
  failed({ sessionEpoch }: SessionRequest): void {
    if (sessionEpoch === FINAL_EPOCH) return;
    this.#isAsking = false;
    this.#end();
  }

  /** The next request still names the old session, so the broker closes that session. */
  #end(): void {
    this.#epoch = INITIAL_EPOCH;
  }

  #changed(topics: readonly FetchedTopic[]): FetchedTopic[] {
    return topics.flatMap(({ topic, partitions }) => {
      const known = this.#known.get(topic);
      const changed = partitions.filter(({ partition, fetchOffset }) => known?.get(partition) !== fetchOffset);
      return changed.length === 0 ? [] : [{ topic, partitions: changed }];
    });
  }

  #forgotten(asked: ReadonlyMap<string, ReadonlyMap<number, string>>): SessionRequest['forgottenTopics'] {
    return [...this.#known].flatMap(([topic, known]) => {
      const partitions = [...known.keys()].filter((partition) => asked.get(topic)?.has(partition) !== true);
      return partitions.length === 0 ? [] : [{ topic, partitions }];
    });
  }
}

const offsetsOf = (partitions: FetchedTopic['partitions']): Map<number, string> =>
  new Map(partitions.map(({ partition, fetchOffset }) => [partition, fetchOffset]));
