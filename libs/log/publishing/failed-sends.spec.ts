import { FailedSends } from './kafka-publisher.adapter.js';

const failing = (): FailedSends => {
  const sends = new FailedSends();
  sends.failed('task.created', 3, 'NOT_ENOUGH_REPLICAS', 0);
  return sends;
};

describe('sends that fail', () => {
  it('are reported by partition and reason, while other partitions take records', () => {
    const sends = failing();
    sends.stored('task.created', 2);
    sends.stored('plan.created', 3);
    expect(sends.fault(1)).toBe('task.created/3 takes no records: NOT_ENOUGH_REPLICAS');
  });

  it('end with the next record that the partition takes', () => {
    const sends = failing();
    sends.stored('task.created', 3);
    expect(sends.fault(1)).toBeUndefined();
  });

  it('are reported for 30 s after the last one, when no later record is sent', () => {
    const sends = failing();
    sends.failed('task.created', 3, 'NOT_ENOUGH_REPLICAS', 20_000);
    expect(sends.fault(49_999)).toContain('task.created/3');
    expect(sends.fault(50_000)).toBeUndefined();
  });

  it('are forgotten when the brokers are back', () => {
    const sends = failing();
    sends.forget();
    expect(sends.fault(1)).toBeUndefined();
  });
});
