// The least that can answer a source, as a process of its own: node:http and JSON.parse, and for the log limit one kafkajs producer
// behind it. No checks, no routes, no metrics, nothing remembered.
import { createServer } from 'node:http';
import { builtLib } from './redis-memory.mjs';
import { answer } from '../../scripts/bench/tool.mjs';

const TYPE = { 'content-type': 'application/json' };

/** Answers 202 as soon as `store`, given the envelope and its bytes, has stored it; resolves with the port. */
async function serve(store) {
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const bytes = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
      const envelope = JSON.parse(bytes.toString());
      const reply = (status, result) => {
        const text = JSON.stringify({ id: envelope.id, type: envelope.type, status: result });
        response.writeHead(status, { ...TYPE, 'content-length': Buffer.byteLength(text) }).end(text);
      };
      store(envelope, bytes, reply);
    });
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return server.address().port;
}

const http = () => serve((_, __, reply) => reply(202, 'accepted'));

/**
 * Group commit with one request at a time: what arrives during one is the next. Same topic settings, same choice of the partition and
 * the same mended kafkajs as the relay: a known fault of the library is no limit of the machine.
 */
async function log({ brokers, topic, partitions }) {
  const [{ connectKafka }, { partitionOf }] = await Promise.all(['kafka', 'events'].map(builtLib));
  const kafka = connectKafka({ KAFKA_BROKERS: [brokers], KAFKA_CLIENT_ID: 'bench-limit' }, () => undefined);
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({
    topics: [{ topic, numPartitions: partitions, replicationFactor: 1 }],
    waitForLeaders: true,
  });
  await admin.disconnect();
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    createPartitioner:
      () =>
      ({ message }) =>
        message.partition,
    retry: { retries: 0 },
  });
  await producer.connect();

  let waiting = [];
  let isSending = false;
  const send = async () => {
    const batch = waiting;
    waiting = [];
    const messages = batch.map(({ message }) => message);
    const status = await producer.sendBatch({ acks: -1, topicMessages: [{ topic, messages }] }).then(
      () => [202, 'accepted'],
      (error) => [503, error.message],
    );
    for (const { reply } of batch) reply(...status);
    if (waiting.length > 0) setImmediate(send);
    else isSending = false;
  };
  return serve((envelope, value, reply) => {
    const key = envelope.payload.id;
    waiting.push({ message: { key, value, partition: partitionOf(key, partitions) }, reply });
    if (isSending) return;
    isSending = true;
    setImmediate(send);
  });
}

answer({ http, log });
