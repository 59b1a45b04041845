import type { Redis } from 'ioredis';

const PREFIX = 'relay-';

/** The name that the connections of a role have in CLIENT LIST. */
export const clientNameOf = (role: 'ingress' | 'worker' | 'operations'): string => `${PREFIX}${role}`;

/** The roles that are connected to a Redis, or to its database where it has several, each as `<role> <address>`. */
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
