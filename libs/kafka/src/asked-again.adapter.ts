import { setTimeout as delay } from 'node:timers/promises';
import kafkajs from 'kafkajs';

const PAUSE_MS = 250;

/**
 * What the brokers answer, asked again for so long as they say of themselves that it may be another answer a moment later: a
 * broker that has just started loads its groups, a topic that was just made has no leader yet. kafkajs gives up in some of
 * its steps at once.
 * @throws whatever `ask` throws that is of another kind, or after that time
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
