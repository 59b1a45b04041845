import { Kafka as Driver, logLevel } from 'kafkajs';
import type { KafkaConfig, LogEntry, SASLOptions, TopicMessages } from 'kafkajs';
import { startingBroker, openSocket, splittable } from './kafkajs-mends.adapter.js';
import type { Kafka, KafkaProducer, OutgoingBatch } from './kafka.port.js';
import { answeredWithin } from './kept-admin.adapter.js';

/** The names are those of docs/configuration.md. */
interface KafkaSettings extends TokenSettings {
  KAFKA_BROKERS: readonly string[];
  KAFKA_CLIENT_ID: string;
  KAFKA_SSL?: boolean | undefined;
  KAFKA_SSL_CA?: string | undefined;
  KAFKA_SSL_CERT?: string | undefined;
  KAFKA_SSL_KEY?: string | undefined;
  KAFKA_SASL_MECHANISM?: 'plain' | 'scram-sha-256' | 'scram-sha-512' | 'oauthbearer' | undefined;
}

type KafkaLog = (level: 'error' | 'warn' | 'debug', text: string, fields: Record<string, unknown>) => void;

/**
 * Returns a client of the brokers. Its own retries are short, because each caller has a deadline and handles failures
 * itself.
 * @returns the driver's whole client, which specs need; other code uses it as `Kafka`
 */
export function connectKafka(settings: KafkaSettings, log: KafkaLog): Driver {
  return new Driver({
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

/** Returns the driver's client for a client that `connectKafka` has made. */
export const driverOf = (kafka: Kafka): Driver => kafka as Driver;

/**
 * Opens a producer that does not retry.
 * @param isIdempotent whether the broker drops repeated records; the producer then retries once, because kafkajs requires a
 * retry
 */
export async function openProducer(kafka: Kafka, isIdempotent: boolean): Promise<KafkaProducer> {
  const producer = driverOf(kafka).producer({
    allowAutoTopicCreation: false,
    createPartitioner: () => (chosen) => chosen.message.partition ?? 0,
    idempotent: isIdempotent,
    retry: { retries: isIdempotent ? 1 : 0 },
  });
  await producer.connect();
  return {
    send: (batches, timeout) => producer.sendBatch({ acks: -1, timeout, topicMessages: byTopic(batches) }),
    disconnect: () => producer.disconnect(),
  };
}

function byTopic(batches: readonly OutgoingBatch[]): TopicMessages[] {
  const topics = new Map<string, TopicMessages>();
  for (const { topic, partition, records } of batches) {
    let entry = topics.get(topic);
    if (entry === undefined) topics.set(topic, (entry = { topic, messages: [] }));
    for (const { key, value, headers } of records) entry.messages.push({ key, value, headers, partition });
  }
  return [...topics.values()];
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
  // Each of these settings turns TLS on. So no password is sent in clear text if only one of them is set.
  if (settings.KAFKA_SSL === true || ca !== undefined || cert !== undefined || key !== undefined)
    security.ssl = {
      ...(ca === undefined ? {} : { ca: [ca] }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    };
  const username = settings.KAFKA_SASL_USERNAME ?? '';
  const password = settings.KAFKA_SASL_PASSWORD ?? '';
  const { KAFKA_SASL_MECHANISM: mechanism } = settings;
  if (mechanism === undefined) return security;
  if (mechanism === 'oauthbearer')
    return { ...security, sasl: { mechanism, oauthBearerProvider: bearerTokens(settings) } };
  return { ...security, sasl: { mechanism, username, password } as SASLOptions };
}

/**
 * Source of the tokens for SASL OAUTHBEARER (RFC 7628): a server or an AWS region. The names are those of
 * docs/configuration.md.
 */
interface TokenSettings {
  KAFKA_SASL_USERNAME?: string | undefined;
  KAFKA_SASL_PASSWORD?: string | undefined;
  KAFKA_SASL_TOKEN_URL?: string | undefined;
  KAFKA_SASL_SCOPE?: string | undefined;
  KAFKA_SASL_AWS_REGION?: string | undefined;
}

/** Shorter than the 5 s that a login may take, so that the error names the token server if the server is slow. */
const ANSWER_MS = 4_000;
/** Assumed lifetime of a token in seconds. RFC 6749 section 5.1 permits a server to leave the lifetime out. */
const LIFE_S = 300;

/**
 * Returns a function that gives kafkajs a token for each login. The first call loads the packages. An error names the
 * setting of the source that failed, and the reason.
 */
export function bearerTokens(settings: TokenSettings): () => Promise<{ value: string }> {
  const region = settings.KAFKA_SASL_AWS_REGION;
  const [name, source] =
    region === undefined
      ? ['KAFKA_SASL_TOKEN_URL', () => fromServer(settings)]
      : ['KAFKA_SASL_AWS_REGION', () => fromAws(region)];
  const late = (): Error => new Error(`no answer within ${ANSWER_MS} ms`);
  const token = halfLived(() => answeredWithin(ANSWER_MS, source(), late), Date.now);
  return async () => {
    try {
      return { value: await token() };
    } catch (error) {
      throw new Error(`no token by ${name}: ${reasonOf(error)}`, { cause: error });
    }
  };
}

/** Requests a token with client credentials, RFC 6749 section 4.4. */
async function fromServer(settings: TokenSettings): Promise<Pass> {
  const oauth = await import('oauth4webapi');
  const { KAFKA_SASL_TOKEN_URL: address = '', KAFKA_SASL_SCOPE: scope } = settings;
  const server = { issuer: new URL(address).origin, token_endpoint: address };
  const client = { client_id: settings.KAFKA_SASL_USERNAME ?? '' };
  const response = await oauth.clientCredentialsGrantRequest(
    server,
    client,
    oauth.ClientSecretBasic(settings.KAFKA_SASL_PASSWORD ?? ''),
    new URLSearchParams(scope === undefined ? [] : [['scope', scope]]),
    // The settings accept http for localhost only.
    { signal: AbortSignal.timeout(ANSWER_MS), [oauth.allowInsecureRequests]: true },
  );
  const given = await oauth.processClientCredentialsResponse(server, client, response);
  return { value: given.access_token, livesMs: (given.expires_in ?? LIFE_S) * 1000 };
}

/**
 * Returns a token by which Amazon MSK identifies an IAM role. AWS's own credential chain finds the credentials of the role.
 */
async function fromAws(region: string): Promise<Pass> {
  const { generateAuthToken } = await import('aws-msk-iam-sasl-signer-js');
  const { token, expiryTime } = await generateAuthToken({ region });
  return { value: token, livesMs: expiryTime - Date.now() };
}

/** Returns the OAuth server's error (RFC 6749 section 5.2), which never contains a secret, or the message and the cause. */
function reasonOf(error: unknown): string {
  const { message, cause, error: code, error_description: said } = error as Error & Record<string, unknown>;
  if (typeof code === 'string') return [code, said].filter(Boolean).join(': ');
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}

/** A token and its lifetime. */
export interface Pass {
  readonly value: string;
  readonly livesMs: number;
}

/**
 * Requests a token from a source and returns it to every caller in the first half of its lifetime. Later callers get a new
 * token. So each caller gets a token with at least half of its lifetime left. Callers share a running request, and only they
 * get its error.
 * @param now returns milliseconds of a clock
 */
export function halfLived(source: () => Promise<Pass>, now: () => number): () => Promise<string> {
  let last: Promise<Pass> | undefined;
  let renewedAt = Infinity;
  const ask = async (): Promise<Pass> => {
    try {
      const pass = await source();
      renewedAt = now() + pass.livesMs / 2;
      return pass;
    } catch (error) {
      last = undefined;
      throw error;
    }
  };
  return async () => {
    if (last === undefined || now() >= renewedAt) {
      renewedAt = Infinity;
      last = ask();
    }
    return (await last).value;
  };
}
