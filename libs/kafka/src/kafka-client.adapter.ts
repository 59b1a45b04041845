import { startingBroker, openSocket, splittable } from './kafkajs-mends.adapter.js';
import { Kafka, logLevel, type KafkaConfig, type LogEntry } from 'kafkajs';
import { bearerTokens, type TokenSettings } from './bearer-tokens.adapter.js';

/** Names are those of docs/configuration.md. */
export interface KafkaSettings extends TokenSettings {
  KAFKA_BROKERS: readonly string[];
  KAFKA_CLIENT_ID: string;
  KAFKA_SSL?: boolean | undefined;
  KAFKA_SSL_CA?: string | undefined;
  KAFKA_SSL_CERT?: string | undefined;
  KAFKA_SSL_KEY?: string | undefined;
  KAFKA_SASL_MECHANISM?: 'plain' | 'scram-sha-256' | 'scram-sha-512' | 'oauthbearer' | undefined;
}

export type KafkaLog = (level: 'error' | 'warn' | 'debug', text: string, fields: Record<string, unknown>) => void;

/** A kafkajs client. Its own retries are short: each caller has a deadline and handles failures itself. */
export function connectKafka(settings: KafkaSettings, log: KafkaLog): Kafka {
  return new Kafka({
    clientId: settings.KAFKA_CLIENT_ID,
    brokers: () => startingBroker(settings.KAFKA_BROKERS.map(splittable)),
    socketFactory: openSocket,
    connectionTimeout: 3_000,
    authenticationTimeout: 5_000,
    requestTimeout: 15_000,
    retry: { initialRetryTime: 200, maxRetryTime: 1_000, retries: 5 },
    logLevel: logLevel.WARN,
    logCreator: () => (entry) =>
      log(levelOf(entry), `kafka: ${entry.log.message}; what failed is repeated`, fieldsOf(entry)),
    ...securityOf(settings),
  });
}

const levelOf = (entry: LogEntry): 'error' | 'warn' | 'debug' =>
  entry.level === logLevel.ERROR ? 'error' : entry.level === logLevel.WARN ? 'warn' : 'debug';

/** The entries of kafkajs contain stacks and whole buffers; an operator needs the broker and the reason. */
function fieldsOf(entry: LogEntry): Record<string, unknown> {
  const { broker, error, groupId, topic, partition } = entry.log as unknown as Record<string, unknown>;
  return {
    namespace: entry.namespace,
    broker,
    error: typeof error === 'string' ? error : undefined,
    groupId,
    topic,
    partition,
  };
}

function securityOf(settings: KafkaSettings): Partial<KafkaConfig> {
  const security: Partial<KafkaConfig> = {};
  const { KAFKA_SSL_CA: ca, KAFKA_SSL_CERT: cert, KAFKA_SSL_KEY: key } = settings;
  // Any of them asks for TLS: a password must not go in clear because the authority is a public one.
  if (settings.KAFKA_SSL === true || ca !== undefined || cert !== undefined || key !== undefined)
    security.ssl = {
      ...(ca === undefined ? {} : { ca: [ca] }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    };
  const username = settings.KAFKA_SASL_USERNAME ?? '';
  const password = settings.KAFKA_SASL_PASSWORD ?? '';
  switch (settings.KAFKA_SASL_MECHANISM) {
    case 'plain':
      return { ...security, sasl: { mechanism: 'plain', username, password } };
    case 'scram-sha-256':
      return { ...security, sasl: { mechanism: 'scram-sha-256', username, password } };
    case 'scram-sha-512':
      return { ...security, sasl: { mechanism: 'scram-sha-512', username, password } };
    case 'oauthbearer':
      return { ...security, sasl: { mechanism: 'oauthbearer', oauthBearerProvider: bearerTokens(settings) } };
    case undefined:
      return security;
    default:
      return settings.KAFKA_SASL_MECHANISM satisfies never;
  }
}
