import { Redis, type RedisOptions } from 'ioredis';

/** How a node of a cluster is logged in to. */
export type NodeLogin = Pick<RedisOptions, 'username' | 'password' | 'tls'>;

/** Of one node: others know the cluster as well. */
const ANSWER_MS = 1_000;

/**
 * Asks one node of Redis Cluster on a connection of its own, which ends with the answer.
 * @param node as host:port @param work gets its host as well
 * @throws Error when it does not answer within a second
 */
export async function askNode<T>(
  node: string,
  { username, password, tls }: NodeLogin,
  work: (redis: Redis, host: string) => Promise<T>,
): Promise<T> {
  const [host, port] = addressOf(node);
  const redis = new Redis({
    ...(username && { username }),
    ...(password && { password }),
    ...(tls && { tls }),
    host,
    port,
    lazyConnect: true,
    connectTimeout: ANSWER_MS,
    commandTimeout: ANSWER_MS,
    retryStrategy: () => null,
  });
  // ioredis rejects with "Connection is closed." and only tells the cause.
  let cause: Error | undefined;
  redis.on('error', (error: Error) => {
    cause = error;
  });
  try {
    await redis.connect();
    return await work(redis, host);
  } catch (error) {
    throw cause ?? error;
  } finally {
    redis.disconnect();
  }
}

/** Host and port of a server. An IPv6 address has colons of its own. */
export function addressOf(server: string, usualPort = 6_379): [host: string, port: number] {
  const [, host = '', port = usualPort] = /^(.*?)(?::(\d+))?$/.exec(server) ?? [];
  return [host.replace(/^\[(.*)\]$/, '$1'), Number(port)];
}
