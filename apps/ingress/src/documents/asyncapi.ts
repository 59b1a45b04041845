import {
  AttemptRecord,
  deadLettersTopic,
  deliveryAttemptsTopic,
  dlqOf,
  Envelope,
  EnvelopeHeaders,
  eventTypes,
  Notice,
  NoticeHeaders,
  noticesTopic,
  OperationsRecord,
  operationsTopic,
  PoisonHeaders,
  registryTopic,
  topicOf,
} from '@relay/events';
import { type ApiFacts, type Schema, SchemaBook } from '@relay/openapi';
import { z } from 'zod';
import { exampleOf } from './event-catalogue.js';

export interface AsyncApiFacts extends ApiFacts {
  readonly topicPrefix: string;
  readonly partitions: number;
}

type Channel = readonly [name: string, topic: string, description: string, message: string, partitions?: number];

const BINDING = '0.5.0';

/** Returns an AsyncAPI 3 document for other Kafka clients. It describes every topic of the relay, with keys and headers. */
export function asyncApi({ publicUrl, version, topicPrefix, partitions }: AsyncApiFacts): Schema {
  const book = new SchemaBook('draft-7', '#/components/schemas/');
  const messages = messagesOf(book);
  const channels = channelsOf(topicPrefix, partitions);
  return {
    asyncapi: '3.1.0',
    id: publicUrl,
    info: {
      title: 'Partner Relay',
      version,
      description:
        'Every accepted envelope is a record in the topic of its event type, with acks=all. A topic can hold a record twice, with the same `ce_id`. Order is kept for one key within one topic.',
      license: { name: 'Apache-2.0' },
      externalDocs: { url: `${publicUrl}/docs` },
    },
    defaultContentType: 'application/json',
    channels: Object.fromEntries(channels.map((channel) => [channel[0], channelOf(channel)])),
    operations: Object.fromEntries(
      channels.map(([name]) => [
        `read_${name}`,
        { action: 'send', channel: { $ref: `#/channels/${name}` }, summary: 'The relay writes, others read.' },
      ]),
    ),
    components: { messages, schemas: book.named },
  };
}

const channelsOf = (prefix: string, partitions: number): Channel[] => [
  ...eventTypes
    .shown('sendable')
    .flatMap((type) =>
      withPoison([nameOf(type), topicOf(prefix, type), `Envelopes of the type ${type}.`, nameOf(type), partitions]),
    ),
  ...withPoison([
    'notices',
    noticesTopic(prefix),
    'Envelopes of the relay itself about webhooks, each for the partner whose webhook it is.',
    'notice',
    1,
  ]),
  [
    'delivery_attempts',
    deliveryAttemptsTopic(prefix),
    'One record for every attempt at an endpoint, keyed by the envelope.',
    'attempt',
    partitions,
  ],
  [
    'operations',
    operationsTopic(prefix),
    'For operators and auditors: webhooks disabled and enabled, deliveries given up, changes by operators.',
    'operation',
  ],
  // The internal topics are listed so that their names are known to be taken. Nothing is promised about their records.
  ['dead_letters', deadLettersTopic(prefix), 'Deliveries given up.', 'internal'],
  ['registry', registryTopic(prefix), 'Changes of clients and webhooks; credentials in it are sealed.', 'internal'],
];

/** Returns the channel of a topic of envelopes, and the channel of the topic that gets its invalid records. */
function withPoison(channel: Channel): Channel[] {
  const [name, topic] = channel;
  const description = `Records of ${topic} that are no envelopes, with their own bytes.`;
  return [channel, [`${name}_dlq`, dlqOf(topic), description, 'poison', 1]];
}

const channelOf = ([, topic, description, message, partitions]: Channel): Schema => ({
  address: topic,
  description,
  messages: { [message]: { $ref: `#/components/messages/${message}` } },
  bindings: { kafka: { topic, ...(partitions === undefined ? {} : { partitions }), bindingVersion: BINDING } },
});

function messagesOf(book: SchemaBook): Schema {
  const envelope = message('Envelope', book.of(EnvelopeHeaders, 'output'), book.of(Envelope, 'input'), KEY);
  const notice = message('A notice', book.of(NoticeHeaders, 'output'), book.of(Notice, 'input'), 'Id of the webhook.');
  const json = book.of(z.object({ 'content-type': z.literal('application/json') }), 'output');
  const envelopes = eventTypes
    .shown('sendable')
    .map((type): [string, Schema] => [
      nameOf(type),
      { name: type, ...envelope, title: `Envelope ${type}`, examples: [{ payload: exampleOf(type) }] },
    ]);
  return {
    ...Object.fromEntries(envelopes),
    notice: { name: 'notice', ...notice, examples: [{ payload: exampleOf('webhook.disabled') }] },
    poison: {
      title: 'A record that is no envelope',
      contentType: 'application/octet-stream',
      headers: book.of(PoisonHeaders, 'output'),
      payload: { description: 'The bytes as they were.' },
      bindings: keyed(),
    },
    attempt: message('An attempt', json, book.of(AttemptRecord, 'output'), "The envelope's id."),
    operation: message('What happened', json, book.of(OperationsRecord, 'output')),
    internal: {
      title: 'A record of the relay itself',
      description: 'Its form can change with any version.',
      contentType: 'application/json',
      payload: { type: 'object' },
      bindings: keyed(),
    },
  };
}

const KEY = '`payload.id` in lower case if it is a UUID, else the id of the envelope.';

/** @param key description of the record's key */
const message = (title: string, headers: Schema, payload: Schema, key?: string): Schema => ({
  title,
  contentType: 'application/json',
  headers,
  payload,
  bindings: keyed(key),
});

const keyed = (description?: string): Schema => ({
  kafka: { key: { type: 'string', ...(description === undefined ? {} : { description }) }, bindingVersion: BINDING },
});

const nameOf = (type: string): string => type.replaceAll('.', '_');
