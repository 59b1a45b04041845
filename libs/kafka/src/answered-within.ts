import { setTimeout as delay } from 'node:timers/promises';

/** Bounds the time of a request to the brokers: a frozen broker keeps its connections and would hold the request for long. */
export async function answeredWithin<T>(ms: number, answer: Promise<T>): Promise<T> {
  const over = new AbortController();
  const silence = delay(ms, undefined, { signal: over.signal }).then((): never => {
    throw new Error(`Kafka did not answer within ${ms} ms`);
  });
  silence.catch(() => undefined); // ended by the answer
  try {
    return await Promise.race([answer, silence]);
  } finally {
    over.abort();
  }
}
