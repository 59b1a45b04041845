import { createRequire } from 'node:module';
import './kafkajs-mends.adapter.js';
import type { RequestQueue } from './kafkajs-mends.adapter.js';

interface Entry {
  readonly correlationId: number;
  readonly resolve: () => void;
}
interface Queue extends RequestQueue {
  throttledUntil: number;
  push(request: { entry: Entry; expectResponse: boolean; sendRequest: () => void }): void;
  fulfillRequest(answer: { correlationId: number; payload: Buffer; size: number }): void;
}
type QueueClass = new (options: object) => Queue;
const KafkajsQueue = createRequire(import.meta.url)('kafkajs/src/network/requestQueue') as QueueClass;

const aQueue = (): Queue =>
  new KafkajsQueue({ maxInFlightRequests: 1, requestTimeout: 1_000, logger: { debug: () => undefined } });
const push = (queue: Queue, correlationId: number): Promise<void> =>
  new Promise((sent) => {
    const entry = { correlationId, resolve: () => undefined };
    queue.push({ entry, expectResponse: true, sendRequest: sent });
  });
const answer = (queue: Queue, correlationId: number): void =>
  queue.fulfillRequest({ correlationId, payload: Buffer.alloc(0), size: 0 });

describe("kafkajs' queue of requests", () => {
  it('sets no timer while no request waits', async () => {
    const queue = aQueue();
    await push(queue, 1);
    answer(queue, 1);
    expect(queue.throttleCheckTimeoutId).toBeNull();
  });

  it('sends a waiting request when the one in flight is answered, and then sets no timer', async () => {
    const queue = aQueue();
    await push(queue, 1);
    const second = push(queue, 2);
    expect(queue.pending).toHaveLength(1);
    answer(queue, 1);
    await second;
    answer(queue, 2);
    await new Promise((later) => {
      setTimeout(later, 30);
    });
    expect(queue.throttleCheckTimeoutId).toBeNull();
  });

  it('sends a throttled request at the end of the time that the broker asked for', async () => {
    const queue = aQueue();
    queue.throttledUntil = Date.now() + 50;
    const sent = push(queue, 1);
    expect(queue.pending).toHaveLength(1);
    await sent;
    expect(Date.now()).toBeGreaterThanOrEqual(queue.throttledUntil);
  });
});
