import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { HeartbeatWait } from './batch.js';

const LOOK_MS = 500;

const after = <T>(ms: number, value: T | Promise<T>): Promise<T> =>
  new Promise((resolve) => void setTimeout(() => resolve(value), ms));

describe('a wait within a batch', () => {
  const beat = jest.fn<() => Promise<void>>();
  let isStopping = false;
  let wait: HeartbeatWait;
  const forever = new Promise<never>(() => undefined);

  beforeEach(() => {
    jest.useFakeTimers();
    beat.mockReset().mockResolvedValue(undefined);
    isStopping = false;
    wait = new HeartbeatWait({ heartbeat: beat }, () => isStopping);
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('ends with the value, or without one when the promise was rejected', async () => {
    await expect(wait.for(Promise.resolve(1))).resolves.toEqual({ value: 1 });
    await expect(wait.for(Promise.reject(new Error('away')))).resolves.toBeUndefined();
    expect(() => wait.throwFault()).not.toThrow();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('sends heartbeats until the promise is settled', async () => {
    const waiting = wait.for(after(3.5 * LOOK_MS, 2));
    await jest.advanceTimersByTimeAsync(4 * LOOK_MS);
    await expect(waiting).resolves.toEqual({ value: 2 });
    expect(beat).toHaveBeenCalledTimes(3);
  });

  it('ends at a failed heartbeat, which it leaves to kafkajs', async () => {
    beat.mockRejectedValue(new Error('the group rebalances'));
    const waiting = wait.for(forever);
    await jest.advanceTimersByTimeAsync(LOOK_MS);
    await expect(waiting).resolves.toBeUndefined();
    expect(() => wait.throwFault()).toThrow('the group rebalances');
    expect(jest.getTimerCount()).toBe(0);
  });

  it('keeps the fault of a heartbeat that fails after the value came', async () => {
    beat.mockImplementation(async () => {
      await after(LOOK_MS, undefined);
      throw new Error('the broker is away');
    });
    const waiting = wait.for(after(1.5 * LOOK_MS, 3));
    await jest.advanceTimersByTimeAsync(1.5 * LOOK_MS);
    await expect(waiting).resolves.toEqual({ value: 3 });
    expect(() => wait.throwFault()).not.toThrow();
    await jest.advanceTimersByTimeAsync(LOOK_MS);
    expect(() => wait.throwFault()).toThrow('the broker is away');
  });

  it.each([
    ['the process stops', () => (isStopping = true)],
    ['its reason is gone', (reason: { goesOn: boolean }) => (reason.goesOn = false)],
  ])('ends without a value, and without a heartbeat, when %s', async (_, happens) => {
    const reason = { goesOn: true };
    const waiting = wait.for(forever, reason);
    happens(reason);
    await jest.advanceTimersByTimeAsync(LOOK_MS);
    await expect(waiting).resolves.toBeUndefined();
    await expect(wait.for(Promise.resolve(4), reason)).resolves.toBeUndefined();
    expect(beat).not.toHaveBeenCalled();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('lets the caller look first, who may end the reason', async () => {
    const reason = { goesOn: true };
    const looking = jest.fn(() => void (reason.goesOn = false));
    const waiting = wait.for(forever, reason, looking);
    await jest.advanceTimersByTimeAsync(LOOK_MS);
    await expect(waiting).resolves.toBeUndefined();
    expect(looking).toHaveBeenCalledTimes(1);
    expect(beat).not.toHaveBeenCalled();
  });
});
