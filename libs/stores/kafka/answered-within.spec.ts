import { answeredWithin } from './kept-admin.adapter.js';

const never = new Promise<never>(() => undefined);

describe('answeredWithin', () => {
  it('settles as the answer does', async () => {
    await expect(answeredWithin(10_000, Promise.resolve(7))).resolves.toBe(7);
    await expect(answeredWithin(10_000, Promise.reject(new Error('refused')))).rejects.toThrow('refused');
  });

  it('rejects once the time is over', async () => {
    await expect(answeredWithin(20, never)).rejects.toThrow('Kafka did not answer within 20 ms');
  });

  it('rejects with the error of its caller', async () => {
    await expect(answeredWithin(20, never, () => new RangeError('late'))).rejects.toThrow(RangeError);
  });
});
