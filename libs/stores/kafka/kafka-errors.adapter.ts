import kafkajs from 'kafkajs';

/**
 * Whether the same request may succeed a moment later, for example when a broker has loaded its groups or a new topic has a
 * leader.
 */
export const isRetriable = (error: unknown): boolean =>
  error instanceof kafkajs.KafkaJSError && error.retriable && !(error instanceof kafkajs.KafkaJSNonRetriableError);

/** Whether the broker answered with one of these codes of Kafka's protocol, such as `MESSAGE_TOO_LARGE`. */
export const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  chainOf(error).some((each) => codes.includes(codeOf(each) ?? ''));

/** Returns the code with which the broker answered; undefined for any other error, even if it wraps the broker's error. */
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'type' in error ? String(error.type) : undefined;

/**
 * Whether the brokers refused the request because this client has no right to it. For topics, kafkajs collects several
 * errors in one.
 */
export const isUnauthorized = (error: unknown): boolean =>
  [error, ...(error instanceof kafkajs.KafkaJSAggregateError ? error.errors : [])].some((each) =>
    hasCode(each, 'TOPIC_AUTHORIZATION_FAILED', 'CLUSTER_AUTHORIZATION_FAILED'),
  );

/** Whether a request got no answer in time. */
export const isTimeout = (error: unknown): boolean =>
  chainOf(error).some(({ name }) => name === 'KafkaJSRequestTimeoutError');

/** Returns the error and its causes. After its own retries, kafkajs wraps the broker's error once or twice. */
function chainOf(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let at = error; at instanceof Error && !chain.includes(at); at = at.cause) chain.push(at);
  return chain;
}

/** Whether the brokers refused to delete records of the first partition because this client has no right to it. */
export function isDeletionRefused(error: unknown): boolean {
  if (!(error instanceof kafkajs.KafkaJSDeleteTopicRecordsError) || !('partitions' in error)) return false;
  const [partition] = error.partitions as readonly { readonly error: Error }[];
  const cause = partition?.error;
  return cause instanceof kafkajs.KafkaJSProtocolError && cause.type === 'TOPIC_AUTHORIZATION_FAILED';
}

/**
 * Returns topic and partition of an offset-out-of-range error. The record at the offset was deleted, or the offset is after
 * the end of a log that lost records.
 */
export const placeOutside = (error: unknown): { readonly topic: string; readonly partition: number } | undefined =>
  error instanceof kafkajs.KafkaJSOffsetOutOfRange ? { topic: error.topic, partition: error.partition } : undefined;
