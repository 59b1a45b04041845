import {
  AttemptRecord,
  deadLettersTopic,
  deliveryAttemptsTopic,
  dlqOf,
  Envelope,
  EnvelopeHeaders,
  EVENT_TYPES,
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

export interface TopicFacts extends ApiFacts {
  readonly topicPrefix: string;
  readonly partitions: number;
}

interface Channel {
  readonly name: string;
  readonly topic: string;
  readonly description: string;
  readonly message: string;
  readonly partitions?: number;
}

const BINDING = '0.5.0';

/** AsyncAPI 3 of every topic of the relay, with keys and headers, for other Kafka clients. */
export function asyncApi({ publicUrl, version, topicPrefix, partitions }: TopicFacts): Schema {
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
    channels: Object.fromEntries(channels.map((channel) => [channel.name, channelOf(channel)])),
    operations: Object.fromEntries(
      channels.map(({ name }) => [
        `read_${name}`,
        { action: 'send', channel: { $ref: `#/channels/${name}` }, summary: 'The relay writes, others read.' },
      ]),
    ),
    components: { messages, schemas: book.named },
  };
}

function channelsOf(prefix: string, partitions: number): Channel[] {
  return [
    ...EVENT_TYPES.flatMap((type) =>
      withPoison({
        name: nameOf(type),
        topic: topicOf(prefix, type),
        description: `Envelopes of the type ${type}.`,
        message: nameOf(type),
        partitions,
      }),
    ),
    ...withPoison({
      name: 'notices',
      topic: noticesTopic(prefix),
      description: 'Envelopes of the relay itself about webhooks, each for the partner whose webhook it is.',
      message: 'notice',
      partitions: 1,
    }),
    {
      name: 'delivery_attempts',
      topic: deliveryAttemptsTopic(prefix),
      description: 'One record for every attempt at an endpoint, keyed by the envelope.',
      message: 'attempt',
      partitions,
    },
    {
      name: 'operations',
      topic: operationsTopic(prefix),
      description:
        'For operators and auditors: webhooks disabled and enabled, deliveries given up, changes by operators.',
      message: 'operation',
    },
    ...INTERNAL.map(([name, topicOfPrefix, description]) => ({
      name,
      topic: topicOfPrefix(prefix),
      description,
      message: 'internal',
    })),
  ];
}

/** A topic of envelopes, and the one for its records that are none. */
const withPoison = (channel: Channel): Channel[] => [
  channel,
  {
    name: `${channel.name}_dlq`,
    topic: dlqOf(channel.topic),
    description: `Records of ${channel.topic} that are no envelopes, with their own bytes.`,
    message: 'poison',
    partitions: 1,
  },
];

/** Internal topics: the document names them to reserve their names, and promises nothing about their records. */
const INTERNAL = [
  ['dead_letters', deadLettersTopic, 'Deliveries given up.'],
  ['registry', registryTopic, 'Changes of clients and webhooks; credentials in it are sealed.'],
] as const;

const channelOf = ({ topic, description, message, partitions }: Channel): Schema => ({
  address: topic,
  description,
  messages: { [message]: { $ref: `#/components/messages/${message}` } },
  bindings: { kafka: { topic, ...(partitions === undefined ? {} : { partitions }), bindingVersion: BINDING } },
});

function messagesOf(book: SchemaBook): Schema {
  const envelope = book.of(Envelope, 'input');
  const headers = book.of(EnvelopeHeaders, 'output');
  const key = { kafka: { key: { type: 'string' }, bindingVersion: BINDING } };
  const envelopes = EVENT_TYPES.map((type): [string, Schema] => [
    nameOf(type),
    {
      name: type,
      title: `Envelope ${type}`,
      contentType: 'application/json',
      headers,
      payload: envelope,
      bindings: { kafka: { key: KEY, bindingVersion: BINDING } },
      examples: [{ payload: exampleOf(type) }],
    },
  ]);
  return {
    ...Object.fromEntries(envelopes),
    notice: {
      name: 'notice',
      title: 'A notice',
      contentType: 'application/json',
      headers: book.of(NoticeHeaders, 'output'),
      payload: book.of(Notice, 'input'),
      bindings: { kafka: { key: { type: 'string', description: 'Id of the webhook.' }, bindingVersion: BINDING } },
      examples: [{ payload: exampleOf('webhook.disabled') }],
    },
    poison: {
      title: 'A record that is no envelope',
      contentType: 'application/octet-stream',
      headers: book.of(PoisonHeaders, 'output'),
      payload: { description: 'The bytes as they were.' },
      bindings: key,
    },
    attempt: {
      title: 'An attempt',
      contentType: 'application/json',
      headers: book.of(JsonHeaders, 'output'),
      payload: book.of(AttemptRecord, 'output'),
      bindings: { kafka: { key: { type: 'string', description: "The envelope's id." }, bindingVersion: BINDING } },
    },
    operation: {
      title: 'What happened',
      contentType: 'application/json',
      headers: book.of(JsonHeaders, 'output'),
      payload: book.of(OperationsRecord, 'output'),
      bindings: key,
    },
    internal: {
      title: 'A record of the relay itself',
      description: 'Its form can change with any version.',
      contentType: 'application/json',
      payload: { type: 'object' },
      bindings: key,
    },
  };
}

const JsonHeaders = z.object({ 'content-type': z.literal('application/json') });
const KEY = { type: 'string', description: '`payload.id` in lower case if it is a UUID, else the id of the envelope.' };

const nameOf = (type: string): string => type.replace('.', '_');
