/** Offsets are texts, as kafkajs has them. */
export interface FetchedTopic {
  readonly topic: string;
  readonly partitions: readonly Readonly<{ partition: number; fetchOffset: string; maxBytes: number }>[];
}

/** The members of a fetch request that a session decides. */
export interface SessionRequest {
  readonly sessionId: number;
  readonly sessionEpoch: number;
  /** The partitions that the broker does not know at this offset yet. */
  readonly topics: readonly FetchedTopic[];
  /** The partitions that the broker is to leave out from now on. */
  readonly forgottenTopics: readonly { readonly topic: string; readonly partitions: readonly number[] }[];
}

/** The members of an answer that concern the session; a broker before Kafka 1.1 has no `sessionId`. */
export interface SessionAnswer {
  readonly errorCode?: number;
  readonly sessionId?: number;
}

const NO_SESSION = 0;
/** Asks for a new session. */
const INITIAL_EPOCH = 0;
/** Asks for no session. */
const FINAL_EPOCH = -1;
const MAX_EPOCH = 2 ** 31 - 1;

/**
 * The fetch session of a consumer with one broker (KIP-227). The broker remembers the partitions and their offsets, so a request
 * names only those that changed, and an answer only those that have news. After any fault the next request names all of them.
 */
export class FetchSession {
  #id = NO_SESSION;
  #epoch = INITIAL_EPOCH;
  /** Offsets that the broker knows, by topic and partition. */
  #known = new Map<string, Map<number, string>>();
  #isAsking = false;

  /** The request for these partitions. While another request is under way, one without a session. */
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

  /** The answer to a request of this session. */
  answered({ sessionEpoch }: SessionRequest, { errorCode = 0, sessionId = NO_SESSION }: SessionAnswer): void {
    if (sessionEpoch === FINAL_EPOCH) return;
    this.#isAsking = false;
    if (errorCode !== 0 || sessionId === NO_SESSION) return this.#end();
    this.#id = sessionId;
    this.#epoch = this.#epoch === MAX_EPOCH ? 1 : this.#epoch + 1;
  }

  /** No answer, or one with the error of a partition. */
  failed({ sessionEpoch }: SessionRequest): void {
    if (sessionEpoch === FINAL_EPOCH) return;
    this.#isAsking = false;
    this.#end();
  }

  /** The next request names the old session, which the broker closes then. */
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
