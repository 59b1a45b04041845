import { setTimeout as delay } from 'node:timers/promises';
import kafkajs from 'kafkajs';

/**
 * The answer, or the error that `late` makes once `ms` milliseconds are over. A frozen broker keeps its connections, so that a
 * driver alone would wait much longer.
 */
export async function answeredWithin<T>(
  ms: number,
  answer: Promise<T>,
  late = (): Error => new Error(`Kafka did not answer within ${ms} ms`),
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  try {
    return await Promise.race([answer, silence]);
  } finally {
    clearTimeout(timer);
  }
}

const PAUSE_MS = 250;

/**
 * Repeats a request while the brokers answer with a retriable error: a starting broker loads its groups, a new topic has no
 * leader yet. In some of its steps kafkajs gives up at once.
 * @throws any other error of `ask`, and every error after that time
 */
export async function askedAgain<T>(withinMs: number, ask: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;)
    try {
      return await ask();
    } catch (error) {
      if (!isRetriable(error) || performance.now() > deadline) throw error;
      await delay(PAUSE_MS);
    }
}

const isRetriable = (error: unknown): boolean =>
  error instanceof kafkajs.KafkaJSError && error.retriable && !(error instanceof kafkajs.KafkaJSNonRetriableError);
