/** The answer of kafkajs for one partition of a produce request. */
export interface Acknowledgement {
  readonly topicName: string;
  readonly partition: number;
  readonly errorCode: number;
  /** Offset of the batch's first record, as text. */
  readonly baseOffset?: string;
}

interface Sent {
  readonly topic: string;
  readonly partition: number;
}

/**
 * The unacknowledged part of a request. A send of kafkajs 2.2.4 to several partitions can resolve although one of them was
 * never written (a leader moves between its own repeats), so only a partition with error code 0 in the answer counts as stored.
 */
export function unacknowledged<S extends Sent>(sent: readonly S[], answers: readonly Acknowledgement[]): S[] {
  const stored = new Set(answers.filter((a) => a.errorCode === 0).map((a) => `${a.topicName}/${a.partition}`));
  return sent.filter((batch) => !stored.has(`${batch.topic}/${batch.partition}`));
}

/** Offset of the first record of each batch; undefined where the answer has none, or -1. */
export function baseOffsets(sent: readonly Sent[], answers: readonly Acknowledgement[]): (number | undefined)[] {
  const known = new Map(answers.map((a) => [`${a.topicName}/${a.partition}`, Number(a.baseOffset ?? -1)]));
  return sent.map((batch) => known.get(`${batch.topic}/${batch.partition}`)).map((at) => (at === -1 ? undefined : at));
}
