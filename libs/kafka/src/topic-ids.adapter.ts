import { kafkajsModule } from './kafkajs-module.adapter.js';

/** Members of kafkajs' encoder and decoder of one message. */
interface Encoder {
  writeUVarInt(value: number): Encoder;
  writeUVarIntString(value: string): Encoder;
  writeBuffer(value: Buffer): Encoder;
  writeBoolean(value: boolean): Encoder;
}
interface Decoder {
  readInt16(): number;
  readInt32(): number;
  readBytes(length: number): Buffer;
  readBoolean(): boolean;
  readUVarIntString(): string | null;
  readUVarIntArray<T>(read: (decoder: Decoder) => T): T[] | null;
  readTaggedFields(): unknown;
}
/** Topic ids by name. */
type Answer = ReadonlyMap<string, string>;
interface Request {
  readonly request: object;
  readonly response: { decode(data: Buffer): Promise<Answer>; parse(answer: Answer): Promise<Answer> };
}

/** The members of kafkajs' broker that a request of our own needs. */
export interface AskedBroker {
  readonly versions: Readonly<Record<number, { readonly maxVersion: number } | undefined>> | null;
  readonly connectionPool: { send(request: Request): Promise<Answer> };
}

/** Metadata has topic ids from version 10 on (KIP-516, Kafka 2.8). kafkajs 2.2.4 asks version 6. */
const [METADATA, VERSION] = [3, 10];
const NO_ID = '0'.repeat(32);

/** Topics without an id are left out: they do not exist, or the broker knows no ids. */
export async function topicIdsOf(broker: AskedBroker, topics: readonly string[]): Promise<Answer> {
  if ((broker.versions?.[METADATA]?.maxVersion ?? 0) < VERSION) return new Map();
  return broker.connectionPool.send({
    request: {
      apiKey: METADATA,
      apiVersion: VERSION,
      apiName: 'Metadata',
      encode: async () => requestFor(topics),
    },
    response: { decode: async (data) => idsIn(data), parse: async (answer) => answer },
  });
}

/** Begins with the tagged fields of the request's head, which kafkajs does not write. No topic is created, no rights are asked for. */
function requestFor(topics: readonly string[]): Encoder {
  const EncoderClass = kafkajsModule('protocol/encoder')?.exports as new () => Encoder;
  const request = new EncoderClass().writeUVarInt(0).writeUVarInt(topics.length + 1);
  for (const topic of topics) request.writeBuffer(Buffer.alloc(16)).writeUVarIntString(topic).writeUVarInt(0);
  return request.writeBoolean(false).writeBoolean(false).writeBoolean(false).writeUVarInt(0);
}

/** Begins with the tagged fields of the answer's head, and is read up to the topics. */
function idsIn(data: Buffer): Answer {
  const DecoderClass = kafkajsModule('protocol/decoder')?.exports as new (data: Buffer) => Decoder;
  const decoder = new DecoderClass(data);
  decoder.readTaggedFields();
  decoder.readInt32(); // throttle time
  decoder.readUVarIntArray(skipBroker);
  decoder.readUVarIntString(); // id of the cluster
  decoder.readInt32(); // controller
  const topics = decoder.readUVarIntArray(readTopic) ?? [];
  return new Map(topics.filter(([, id]) => id !== NO_ID));
}

function skipBroker(decoder: Decoder): void {
  decoder.readInt32();
  decoder.readUVarIntString();
  decoder.readInt32();
  decoder.readUVarIntString();
  decoder.readTaggedFields();
}

function readTopic(decoder: Decoder): [name: string, id: string] {
  decoder.readInt16();
  const name = decoder.readUVarIntString() ?? '';
  const id = decoder.readBytes(16).toString('hex');
  decoder.readBoolean();
  decoder.readUVarIntArray(skipPartition);
  decoder.readInt32();
  decoder.readTaggedFields();
  return [name, id];
}

function skipPartition(decoder: Decoder): void {
  decoder.readInt16();
  for (let number = 0; number < 3; number += 1) decoder.readInt32(); // partition, leader, its epoch
  for (let list = 0; list < 3; list += 1) decoder.readUVarIntArray((each) => each.readInt32()); // replicas
  decoder.readTaggedFields();
}
