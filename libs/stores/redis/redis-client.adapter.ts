import { Redis, SentinelConnector, type RedisOptions } from 'ioredis';
import { clusterConnector, ClusterLook, addressOf, type NodeLogin } from './cluster.adapter.js';
import { AddressConnector, NotPrimaryError, primaryOnly, watchRole, wrongServer } from './primary-connector.adapter.js';
import { GLOBAL_TAG, Shard, Shards, shardsOn, shardTags } from './shards.js';

/** How Redis is reached: by a URL, by sentinels, or by nodes of a cluster. The names are those of docs/configuration.md. */
export interface RedisSettings {
  REDIS_URL?: string | undefined;
  REDIS_SENTINELS: readonly string[];
  REDIS_SENTINEL_NAME: string;
  REDIS_CLUSTER_NODES?: readonly string[] | undefined;
  /** Used only with sentinels or a cluster, because a URL contains its own user name. */
  REDIS_USERNAME?: string | undefined;
  REDIS_PASSWORD?: string | undefined;
  REDIS_SENTINEL_PASSWORD?: string | undefined;
  REDIS_TLS?: boolean | undefined;
  /** Default 1. */
  REDIS_SHARDS?: number | undefined;
  /** Name of the connection in CLIENT LIST (`clientNameOf`). This is no setting. */
  clientName?: string;
}

/**
 * - `command`: a command fails at once while Redis is away, so that the caller can decide. For example, the ingress accepts
 *   an envelope anyway, and the worker repeats its own step. The driver never resends a command.
 * - `queue`: a connection for BullMQ waits for Redis without a limit, because BullMQ refuses any other connection for a
 *   worker. If a connection does not answer, a new connection is opened.
 */
export type RedisUse = 'command' | 'queue';

// The types of ioredis declare this option in a way that exactOptionalPropertyTypes does not accept.
type Options = Omit<RedisOptions, 'replyMapping'>;

/**
 * Opens a connection. It reconnects by itself, after at most a second each time, and leaves a server that is no longer a
 * primary. The caller closes it with `quit` or `disconnect`.
 * @param tag hash tag whose slot the connection leads to in a cluster; by default the tag of global keys
 */
export function connectRedis(
  settings: RedisSettings,
  use: RedisUse,
  onFault: (error: Error) => void,
  tag = GLOBAL_TAG,
): Redis {
  const options: Options = {
    ...(use === 'command'
      ? {
          enableOfflineQueue: false,
          maxRetriesPerRequest: 0,
          autoResendUnfulfilledCommands: false,
          commandTimeout: 5_000,
          // A frozen Redis keeps its connections open. Without this, they seem ready, and every command waits until its
          // timeout.
          socketTimeout: 5_000,
        }
      : {
          maxRetriesPerRequest: null,
          // As above. If the machine is gone, TCP would otherwise retransmit for a quarter of an hour. The value is more
          // than the 10 s that BullMQ waits for a job at most, because ioredis measures the time for which any answer is
          // outstanding.
          socketTimeout: 15_000,
        }),
    retryStrategy: (times) => Math.min(50 * times, 1_000),
    connectTimeout: 5_000,
    // BullMQ's connections send a refused command again.
    reconnectOnError: wrongServer(use === 'queue' ? 2 : true),
    ...(settings.clientName === undefined ? {} : { connectionName: settings.clientName }),
    ...placeOptions(settings, tag),
  };
  const redis = settings.REDIS_URL === undefined ? new Redis(options) : new Redis(settings.REDIS_URL, options);
  redis.on('error', (error: Error) => {
    // After a failed SELECT, ioredis goes on in database 0. Here it has not read INFO yet, so it has sent no other command.
    if (isOfSelect(error)) redis.stream.destroy(new WrongDatabaseError(error.message));
    else if (error instanceof NotPrimaryError || error instanceof WrongDatabaseError) refused.set(redis, error.message);
    onFault(error);
  });
  redis.on('ready', () => refused.delete(redis));
  watchRole(redis);
  return redis;
}

/** For each connection that was given up although its server answers, the reason. */
const refused = new WeakMap<Redis, string>();

/** The server refused the database that REDIS_URL names. */
class WrongDatabaseError extends Error {
  override readonly name = 'WrongDatabaseError';

  constructor(said: string) {
    super(`Redis does not give the database at the end of REDIS_URL: correct its number (${said})`);
  }
}

const isOfSelect = (error: Error & { readonly command?: { readonly name?: string } }): boolean =>
  error.command?.name === 'select';

function placeOptions(settings: RedisSettings, tag: string): Options {
  if (settings.REDIS_URL !== undefined) return { Connector: primaryOnly(AddressConnector) };
  const { REDIS_CLUSTER_NODES: nodes = [], REDIS_SENTINELS: sentinels } = settings;
  const { tls, ...login } = nodeLogin(settings);
  if (nodes.length > 0) return { ...login, ...(tls && { tls }), Connector: clusterConnector(lookOf(nodes), tag) };
  if (sentinels.length > 0) return { ...login, ...sentinelOptions(settings) };
  throw new Error('None of REDIS_URL, REDIS_SENTINELS and REDIS_CLUSTER_NODES is set');
}

export function nodeLogin(settings: RedisSettings): NodeLogin {
  const { REDIS_USERNAME: username, REDIS_PASSWORD: password, REDIS_TLS: isSecured } = settings;
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(isSecured === true ? { tls: {} } : {}),
  };
}

/** The `ClusterLook` for each list of nodes in the configuration. All connections of a process share it. */
const looks = new WeakMap<readonly string[], ClusterLook>();

function lookOf(nodes: readonly string[]): ClusterLook {
  const look = looks.get(nodes) ?? new ClusterLook(nodes);
  looks.set(nodes, look);
  return look;
}

function sentinelOptions(settings: RedisSettings): Options {
  const { REDIS_SENTINEL_PASSWORD: sentinelPassword } = settings;
  return {
    ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
    ...(settings.REDIS_TLS === true ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
    Connector: primaryOnly(SentinelConnector),
    name: settings.REDIS_SENTINEL_NAME,
    sentinels: settings.REDIS_SENTINELS.map((entry) => {
      const [host, port] = addressOf(entry, 26_379);
      return { host, port };
    }),
  };
}

/** Returns the fault of the first connection that takes no commands; undefined if all of them take commands. */
export function redisFault(...connections: readonly Redis[]): string | undefined {
  const away = connections.find(({ status }) => status !== 'ready');
  return away === undefined ? undefined : (refused.get(away) ?? `not connected (${away.status})`);
}

/**
 * Waits until the connection takes commands.
 * @param onWait called after half a second, and every 5 s
 * @throws Error if `signal` aborts the wait
 */
export async function redisReady(redis: Redis, onWait: () => void, signal?: AbortSignal): Promise<void> {
  if (redis.status === 'ready') return;
  // A connection takes some milliseconds, which is not worth a report.
  const first = setTimeout(onWait, 500);
  const timer = setInterval(onWait, 5_000);
  try {
    await new Promise<void>((resolve, reject) => {
      redis.once('ready', resolve);
      signal?.addEventListener('abort', () => reject(new Error('stopped while waiting for Redis')), { once: true });
    });
  } finally {
    clearTimeout(first);
    clearInterval(timer);
  }
}

/**
 * Returns the shards of a deployment. If one server has all shards, they share one connection. In a cluster with several
 * shards, each shard has its own connection to the primary of its slot.
 * @param redis the connection to the global keys; if the shards share one connection, they share this one
 */
export function connectShards(
  settings: RedisSettings,
  use: RedisUse,
  onFault: (error: Error, tag: string) => void,
  redis?: Redis,
): Shards {
  const { REDIS_SHARDS: count = 1, REDIS_CLUSTER_NODES: nodes = [] } = settings;
  const connect = (tag: string): Redis => connectRedis(settings, use, (error) => onFault(error, tag), tag);
  if (count === 1 || nodes.length === 0) return shardsOn(redis ?? connect(GLOBAL_TAG), count);
  return new Shards(
    shardTags(count).map((tag) => new Shard(connect(tag), tag)),
    redis,
  );
}

const PREFIX = 'relay-';

/** Returns the name that the connections of a role have in CLIENT LIST. */
export const clientNameOf = (role: 'ingress' | 'worker' | 'operations'): string => `${PREFIX}${role}`;

/** Returns the roles that are connected to the same Redis and the same database, each as `<role> <address>`. */
export async function connectedRoles(redis: Redis): Promise<string[]> {
  const clients = String(await redis.client('LIST', 'TYPE', 'NORMAL')).split('\n');
  const found = clients.flatMap((line) => {
    const {
      name = '',
      db,
      addr = '',
    } = Object.fromEntries(line.split(' ').map((pair) => pair.split('=', 2))) as Record<string, string>;
    const isOurs = name.startsWith(PREFIX) && Number(db) === (redis.options.db ?? 0);
    return isOurs ? [`${name.slice(PREFIX.length)} ${addr}`] : [];
  });
  return found.toSorted();
}

// Error codes of the Redis protocol for a server that starts, fails over, moves slots, is full, or cannot write at the
// moment.
const NOT_NOW =
  /^(?:LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|NOREPLICAS|UNBLOCKED|OOM|MISCONF|BUSY)\b/;
// ioredis has neither classes nor codes for these; the texts are those of its 5.x sources.
const CONNECTION_TEXTS =
  /^(?:Command timed out$|Connection is closed\.$|Stream isn't writeable|Socket timeout\.|Command aborted due to connection close$|connect ETIMEDOUT$|All sentinels are unreachable)/;
const ABORTED = new Set(['AbortError', 'InterruptError', 'MaxRetriesPerRequestError']);
const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/**
 * Whether an error of a command means that Redis is away or cannot serve at the moment, so that a repeat may succeed. Only
 * the error itself shows that: an app has several connections, and the state of one connection says nothing about a command
 * on another.
 */
export function isRedisAway(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  if (thrown.name === 'ReplyError') return NOT_NOW.test(thrown.message);
  // A DOMException of the same name comes from an AbortSignal, not from ioredis.
  if (ABORTED.has(thrown.name)) return !(thrown instanceof DOMException);
  if ('code' in thrown && NETWORK_CODES.has(String(thrown.code))) return true;
  return CONNECTION_TEXTS.test(thrown.message);
}
