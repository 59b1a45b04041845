import { randomUUID } from 'node:crypto';
import { partitionOf } from '@relay/events';
import type { OutgoingRecord, Publisher } from '@relay/publishing';
import type { StoredRecord } from '../memory-publisher.js';

/** A publisher with the log behind it. */
interface PublisherHarness {
  readonly publisher: Publisher;
  createTopic(topic: string, partitions: number): Promise<void>;
  hasTopic(topic: string): Promise<boolean>;
  /** Everything a topic holds, each partition in its order. */
  read(topic: string): Promise<readonly StoredRecord[]>;
}

const aRecord = (topic: string, key: string = randomUUID(), text = 'x'): OutgoingRecord => ({
  topic,
  key,
  value: Buffer.from(text),
  headers: {},
});

/** Contract of every Publisher. `open` returns a new publisher at each call; `prefix` keeps topics of different runs apart. */
export function describePublisher(name: string, prefix: string, open: () => Promise<PublisherHarness>): void {
  describe(`${name} as a Publisher`, () => {
    let log: PublisherHarness;
    beforeAll(async () => {
      log = await open();
    });
    afterAll(async () => {
      await log.publisher.close();
    });

    const newTopic = async (): Promise<string> => {
      const topic = `${prefix}.${randomUUID()}`;
      await log.createTopic(topic, 3);
      return topic;
    };

    it('is connected once something is stored', async () => {
      await log.publisher.publish(aRecord(await newTopic()));
      expect(log.publisher.state).toBe('connected');
    });

    it('stores key, bytes and headers as given before it resolves', async () => {
      const topic = await newTopic();
      const value = Buffer.from([0, 0xff, 0x80, 10]);
      await log.publisher.publish({ topic, key: 'é', value, headers: { ce_id: '1', 'relay-partner': 'a,b' } });
      const partition = partitionOf('é', 3);
      const headers = { ce_id: '1', 'relay-partner': 'a,b' };
      expect(await log.read(topic)).toEqual([{ partition, key: 'é', value, headers }]);
    });

    it('stores each of 400 parallel records once, each key in one partition and in the order of the calls', async () => {
      const topic = await newTopic();
      const records = Array.from({ length: 400 }, (_, n) => aRecord(topic, `key ${n % 10}`, String(n)));
      await Promise.all(records.map((record) => log.publisher.publish(record)));
      const stored = await log.read(topic);
      expect(stored).toHaveLength(400);
      const keys = new Set(stored.map((record) => record.key));
      for (const key of keys) {
        const ofKey = stored.filter((record) => record.key === key);
        expect(new Set(ofKey.map((record) => record.partition))).toEqual(new Set([partitionOf(key, 3)]));
        const numbers = ofKey.map((record) => Number(record.value.toString()));
        expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
      }
    });

    it('returns the offset of each record', async () => {
      const topic = await newTopic();
      const offsets = await Promise.all(
        Array.from({ length: 20 }, (_, n) => log.publisher.publish({ ...aRecord(topic, String(n)), partition: n % 2 })),
      );
      expect(offsets).toEqual(Array.from({ length: 20 }, (_, n) => Math.floor(n / 2)));
    });

    it('keeps topics apart that are written at once', async () => {
      const topics = await Promise.all([newTopic(), newTopic(), newTopic()]);
      await Promise.all(
        topics.flatMap((topic) => ['1', '2', '3'].map((key) => log.publisher.publish(aRecord(topic, key, topic)))),
      );
      for (const topic of topics) {
        expect((await log.read(topic)).map((record) => record.value.toString())).toEqual([topic, topic, topic]);
      }
    });

    it('uses the given partition, and refuses one that does not exist', async () => {
      const topic = await newTopic();
      await log.publisher.publish({ ...aRecord(topic), partition: 2 });
      expect(await log.read(topic)).toMatchObject([{ partition: 2 }]);
      const beyond = log.publisher.publish({ ...aRecord(topic), partition: 3 });
      await expect(beyond).rejects.toMatchObject({ name: 'PublishFailed', reason: 'refused', retryable: false });
    });

    it('names a missing topic and the remedy, creates none, and goes on with the others', async () => {
      const [known, missing] = [await newTopic(), `${prefix}.${randomUUID()}`];
      const failed = log.publisher.publish(aRecord(missing));
      await expect(failed).rejects.toMatchObject({ name: 'PublishFailed', reason: 'unavailable', retryable: true });
      await expect(failed).rejects.toThrow(missing);
      await expect(failed).rejects.toThrow('relay topics create');
      expect(await log.hasTopic(missing)).toBe(false);
      await log.publisher.publish(aRecord(known));
      expect(log.publisher.state).toBe('connected');
    });

    it('takes nothing after close', async () => {
      const [other, topic] = [await open(), await newTopic()];
      await other.publisher.close();
      await expect(other.publisher.publish(aRecord(topic))).rejects.toMatchObject({ reason: 'unavailable' });
      expect(other.publisher.state).toBe('closed');
    });
  });
}
