import { Redis, SentinelConnector, type RedisOptions } from 'ioredis';
import { clusterConnector } from './cluster-connector.adapter.js';
import { ClusterLook } from './cluster-look.adapter.js';
import { addressOf, type NodeLogin } from './cluster-node.adapter.js';
import { GLOBAL_TAG } from './keys.js';
import { AddressConnector, NotPrimaryError, primaryOnly } from './primary-connector.adapter.js';
import { watchRole, wrongServer } from './wrong-server.adapter.js';

/** Where Redis is: by URL, by its sentinels, or by nodes of a cluster. Names are those of docs/configuration.md. */
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
  /** Not a setting: by which Redis shows the connection (`clientNameOf`). */
  clientName?: string;
}

/**
 * - `command`: fails at once while Redis is away, so that the caller decides (the ingress accepts anyway, the worker
 *   repeats its own step). The driver resends nothing: a flush itself says what it last sent.
 * - `queue`: BullMQ's connections wait for Redis for ever (BullMQ refuses a worker otherwise), on a new connection where one
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
          // As above, for one whose machine is gone: TCP would repeat what was written for a quarter of an hour. Longer than
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

/** How the nodes of a cluster are logged in to. */
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

/** Waits until the connection takes commands; reports the reason every 5 s. */
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
