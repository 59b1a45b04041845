import { answeredWithin } from './answered-within.js';

describe('answeredWithin', () => {
  it('resolves with the answer, or rejects with its error', async () => {
    await expect(answeredWithin(10_000, Promise.resolve(7))).resolves.toBe(7);
    await expect(answeredWithin(10_000, Promise.reject(new Error('refused')))).rejects.toThrow('refused');
  });

  it('rejects when the time is over', async () => {
    await expect(answeredWithin(20, new Promise(() => undefined))).rejects.toThrow('Kafka did not answer within 20 ms');
  });
});
