import { PublishFailed, type OutgoingRecord, type Publisher } from '@relay/publishing';
import { ThrottledLog } from '@relay/telemetry';
import { MemoryRetryQueue, MemoryState } from '@relay/testing';
import { RejectedRecords } from './rejected-records.js';

const say = (): void => undefined;
const log = new ThrottledLog({ warn: say, error: say, info: say, debug: say });
const at = { topic: 'task.created', partition: 3 };
const recordOf = (value: Buffer) => ({ offset: 7, key: Buffer.from('k'), value, headers: {}, timestamp: 1 });

/** Rejects a record with a broker that may refuse it first. */
async function stored(value: Buffer, refuses: (record: OutgoingRecord) => PublishFailed | undefined) {
  const taken: OutgoingRecord[] = [];
  const publish = async (record: OutgoingRecord): Promise<undefined> => {
    const failure = refuses(record);
    if (failure !== undefined) throw failure;
    taken.push(record);
  };
  const publisher = { publish } as unknown as Publisher;
  await new RejectedRecords(publisher, new MemoryRetryQueue(new MemoryState()), log).poison(at, recordOf(value), 'why');
  return taken;
}

describe('a record that is no envelope', () => {
  const origin = { 'relay-reason': 'why', 'relay-topic': at.topic, 'relay-partition': '3', 'relay-offset': '7' };

  it('is stored whole, with its origin', async () => {
    const value = Buffer.alloc(100_000, 'x');
    expect(await stored(value, () => undefined)).toEqual([
      { topic: 'task.created.dlq', key: 'k', value, headers: origin },
    ]);
  });

  it('is truncated when the broker refuses it, with its full length in a header', async () => {
    const value = Buffer.alloc(1_100_000, 'x');
    const [record, ...more] = await stored(value, ({ value: sent }) =>
      sent.length > 1_000_000 ? new PublishFailed('refused', 'too large') : undefined,
    );
    expect(more).toEqual([]);
    expect(record).toMatchObject({
      key: '7',
      value: value.subarray(0, 65_536),
      headers: { ...origin, 'relay-truncated': '1100000' },
    });
  });

  it('is sent again whole when the broker is away', async () => {
    const value = Buffer.from('{');
    let away = 1;
    const failure = new PublishFailed('unavailable', 'away');
    expect(await stored(value, () => (away-- > 0 ? failure : undefined))).toMatchObject([{ value, headers: origin }]);
  });
});
