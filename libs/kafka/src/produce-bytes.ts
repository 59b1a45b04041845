import { crc32c } from './crc32c.js';
import { recordBytes, type UnencodedRecord } from './record-bytes.js';

interface UnencodedPartition {
  readonly partition: number;
  readonly messages: readonly (UnencodedRecord & { readonly timestamp?: unknown })[];
  readonly firstSequence?: number;
}

/** A produce request as kafkajs hands it to its encoder. */
export interface UnencodedProduce {
  readonly acks: number;
  readonly timeout: number;
  readonly transactionalId?: string | null;
  /** A number, a text of digits, or a long integer of kafkajs. */
  readonly producerId?: number | string | { toString(): string };
  readonly producerEpoch?: number;
  readonly compression?: number;
  readonly topicData: readonly { readonly topic: string; readonly partitions: readonly UnencodedPartition[] }[];
}

/** A batch without its records. */
const BATCH_BYTES = 61;
/** Where the part of a batch starts that its length counts, and the part that its checksum covers. */
const [COUNTED, COVERED] = [12, 21];
const MAGIC = 2;
const TRANSACTIONAL = 16;

/** Whether `produceBytes` can write it: the relay neither compresses records nor gives them times. */
export const isPlain = ({ compression = 0, topicData }: UnencodedProduce): boolean =>
  compression === 0 &&
  topicData.every(({ partitions }) =>
    partitions.every(({ messages }) => messages.every(({ timestamp }) => timestamp === undefined)),
  );

/** The body of a produce request of versions 3 to 7, in a buffer of its size. */
export function produceBytes(request: UnencodedProduce, now: number): Buffer {
  const { acks, timeout, transactionalId = null, producerId = -1, producerEpoch = 0, topicData } = request;
  const producer = BigInt(String(producerId));
  const attributes = transactionalId === null || transactionalId === '' ? 0 : TRANSACTIONAL;
  let size = 2 + lengthOf(transactionalId) + 2 + 4 + 4;
  const topics = topicData.map(({ topic, partitions }) => {
    size += 2 + lengthOf(topic) + 4;
    const batches = partitions.map(({ partition, messages, firstSequence = 0 }) => {
      const records = messages.map(({ key = null, value, headers = {} }, offsetDelta) =>
        recordBytes({ key, value, headers, offsetDelta }),
      );
      const length = records.reduce((sum, record) => sum + record.length, BATCH_BYTES);
      size += 4 + 4 + length;
      return { partition, firstSequence, records, length };
    });
    return { topic, batches };
  });

  const bytes = Buffer.allocUnsafe(size);
  let at = writeText(bytes, 0, transactionalId);
  at = bytes.writeInt16BE(acks, at);
  at = bytes.writeInt32BE(timeout, at);
  at = bytes.writeInt32BE(topics.length, at);
  for (const { topic, batches } of topics) {
    at = writeText(bytes, at, topic);
    at = bytes.writeInt32BE(batches.length, at);
    for (const { partition, firstSequence, records, length } of batches) {
      at = bytes.writeInt32BE(partition, at);
      at = bytes.writeInt32BE(length, at);
      const start = at;
      at = bytes.writeBigInt64BE(0n, at); // first offset: the broker sets it
      at = bytes.writeInt32BE(length - COUNTED, at);
      at = bytes.writeInt32BE(0, at); // epoch of the leader: the broker sets it
      at = bytes.writeInt8(MAGIC, at) + 4;
      at = bytes.writeInt16BE(attributes, at);
      at = bytes.writeInt32BE(records.length - 1, at);
      at = bytes.writeBigInt64BE(BigInt(now), at); // time of the first record
      at = bytes.writeBigInt64BE(BigInt(now), at); // and of the last one
      at = bytes.writeBigInt64BE(producer, at);
      at = bytes.writeInt16BE(producerEpoch, at);
      at = bytes.writeInt32BE(firstSequence, at);
      at = bytes.writeInt32BE(records.length, at);
      for (const record of records) at += record.copy(bytes, at);
      bytes.writeUInt32BE(crc32c(bytes, start + COVERED, at), start + COVERED - 4);
    }
  }
  return bytes;
}

const lengthOf = (text: string | null): number => (text === null ? 0 : Buffer.byteLength(text));

function writeText(bytes: Buffer, at: number, text: string | null): number {
  if (text === null) return bytes.writeInt16BE(-1, at);
  const start = bytes.writeInt16BE(lengthOf(text), at);
  return start + bytes.write(text, start);
}
