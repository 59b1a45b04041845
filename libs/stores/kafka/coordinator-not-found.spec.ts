import { createRequire } from 'node:module';
import './kafkajs-mends.adapter.js';

const require = createRequire(import.meta.url);
type Retrier = <R>(make: (bail: (error: Error) => void) => Promise<R>) => Promise<R>;
const createRetry = require('kafkajs/src/retry') as (options: object) => Retrier;
const { KafkaJSGroupCoordinatorNotFound: NotFound } = require('kafkajs/src/errors') as Record<
  string,
  new (text: string) => Error & { retriable: boolean }
>;

it('kafkajs repeats its request when no broker names the coordinator of a group', async () => {
  if (NotFound === undefined) throw new Error('kafkajs knows no such error any more');
  expect(new NotFound('x').retriable).toBe(true); // by which its consumer starts again after a crash
  const retry = createRetry({ initialRetryTime: 1, retries: 3 });
  let asked = 0;
  const coordinator = await retry(async () => {
    asked += 1;
    if (asked < 3) throw new NotFound('Failed to find group coordinator');
    return 'broker 1';
  });
  expect([coordinator, asked]).toEqual(['broker 1', 3]);
});
