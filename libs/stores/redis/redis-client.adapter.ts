import { Redis, SentinelConnector, type RedisOptions } from 'ioredis';
import { clusterConnector, ClusterLook, addressOf, type NodeLogin } from './cluster.adapter.js';
import { AddressConnector, NotPrimaryError, primaryOnly, watchRole, wrongServer } from './primary-connector.adapter.js';
import { GLOBAL_TAG, Shard, Shards, shardsOn, shardTags } from './shards.js';

/** Location of Redis: by URL, by sentinels, or by nodes of a cluster. Names are those of docs/configuration.md. */
export interface RedisSettings {
  REDIS_URL?: string | undefined;
  REDIS_SENTINELS: readonly string[];
  REDIS_SENTINEL_NAME: string;
  REDIS_CLUSTER_NODES?: readonly string[] | undefined;
  /** With sentinels or a cluster only: a URL has its own. */
  REDIS_USERNAME?: string | undefined;
  REDIS_PASSWORD?: string | undefined;
  REDIS_SENTINEL_PASSWORD?: string | undefined;
  REDIS_TLS?: boolean | undefined;
  /** Default 1. */
  REDIS_SHARDS?: number | undefined;
  /** Name of the connection in CLIENT LIST (`clientNameOf`); it is no setting. */
  clientName?: string;
}

/**
 * - `command`: fails at once while Redis is away, so that the caller decides (the ingress accepts anyway, the worker
 *   repeats its own step). The driver resends nothing: a flush itself says what it last sent.
 * - `queue`: BullMQ's connections wait for Redis for ever (BullMQ refuses a worker otherwise), on a new connection if one
 *   does not answer.
 */
export type RedisUse = 'command' | 'queue';

// ioredis declares this one option so that exactOptionalPropertyTypes refuses its own type.
type Options = Omit<RedisOptions, 'replyMapping'>;

/**
 * Opens a connection that reconnects by itself, every second at the latest, and leaves a server that is no primary any more. The
 * caller ends it with `quit` or `disconnect`.
 * @param tag hash tag whose slot it leads to in a cluster; by default that of what is global
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
          // A frozen Redis keeps its connections: without this they count as ready, and every command waits its whole time.
          socketTimeout: 5_000,
        }
      : {
          maxRetriesPerRequest: null,
          // As above; if the machine is gone, TCP would otherwise retransmit for a quarter of an hour. Longer than
          // the 10 s that BullMQ waits for a job at most: ioredis counts while any answer is outstanding.
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
    // ioredis goes on in database 0. No command is sent before it has read INFO, which it has not yet.
    if (isOfSelect(error)) redis.stream.destroy(new WrongDatabaseError(error.message));
    else if (error instanceof NotPrimaryError || error instanceof WrongDatabaseError) refused.set(redis, error.message);
    onFault(error);
  });
  redis.on('ready', () => refused.delete(redis));
  watchRole(redis);
  return redis;
}

/** Why each of these connections was given up although its server answers. */
const refused = new WeakMap<Redis, string>();

/** The server does not give the database that REDIS_URL names. */
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

/** By the list of nodes in the configuration, which all connections of a process share. */
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

/** The fault of the first connection that takes no commands; undefined when all do. */
export function redisFault(...connections: readonly Redis[]): string | undefined {
  const away = connections.find(({ status }) => status !== 'ready');
  return away === undefined ? undefined : (refused.get(away) ?? `not connected (${away.status})`);
}

/**
 * Waits until the connection takes commands.
 * @param onWait called after half a second, and every 5 s
 * @throws Error when `signal` aborts the wait
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
 * The shards of a deployment. They share a connection if one server has them all. In a cluster each has its own, which leads to the
 * primary of its slot.
 * @param redis the connection to the global keys, which they share if they can
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

/** The name that the connections of a role have in CLIENT LIST. */
export const clientNameOf = (role: 'ingress' | 'worker' | 'operations'): string => `${PREFIX}${role}`;

/** The roles that are connected to a Redis, or to its database if it has several, each as `<role> <address>`. */
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

// Error codes of the Redis protocol that mean "not now": starting, failing over, moving, full, or unable to write.
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
 * Whether an error of a command means that Redis is away or cannot serve at the moment, so that a repeat may succeed. The error
 * itself tells: an app has several connections, and the state of one says nothing about a command of another.
 */
export function isRedisAway(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  if (thrown.name === 'ReplyError') return NOT_NOW.test(thrown.message);
  // A DOMException of the same name comes from an AbortSignal, not from ioredis.
  if (ABORTED.has(thrown.name)) return !(thrown instanceof DOMException);
  if ('code' in thrown && NETWORK_CODES.has(String(thrown.code))) return true;
  return CONNECTION_TEXTS.test(thrown.message);
}
