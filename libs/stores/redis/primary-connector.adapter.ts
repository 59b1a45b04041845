import { connect as connectPlain } from 'node:net';
import { connect as connectSecured } from 'node:tls';
import { setTimeout as delay } from 'node:timers/promises';
import { AbstractConnector, type RedisOptions, type Redis } from 'ioredis';

export type Connector = NonNullable<RedisOptions['Connector']>;
type ConnectorClass = new (options: never) => AbstractConnector;
export type Tell = Parameters<AbstractConnector['connect']>[0];
type Connected = Awaited<ReturnType<AbstractConnector['connect']>>;

/**
 * A connection that is not known to lead to a primary after this time is given up. A replica that loads its data may not
 * answer for minutes.
 */
const KNOWN_WITHIN_MS = 10_000;

/** The connection leads to a server that takes no writes. The relay ends it and looks for the primary again. */
export class NotPrimaryError extends Error {
  override readonly name = 'NotPrimaryError';
}

/**
 * Makes a connector of ioredis accept only a primary. An address may lead to a replica that was not promoted yet, or that
 * was a primary before. Without this check the connection would become ready, and refuse every write for as long as it stays
 * open.
 */
export function primaryOnly(Base: ConnectorClass): Connector {
  class PrimaryOnly extends (Base as new (options: unknown) => AbstractConnector) {
    #timer: NodeJS.Timeout | undefined;

    override async connect(tell: Tell): Promise<Connected> {
      // `super` does not work here: the method is abstract in the common base class.
      const stream = await (Base.prototype as AbstractConnector).connect.call(this, tell);
      this.#timer = setTimeout(() => {
        stream.destroy(
          new NotPrimaryError('Redis has not said within 10 s that it takes writes: it may load its data'),
        );
      }, KNOWN_WITHIN_MS);
      stream.once('close', () => clearTimeout(this.#timer));
      return stream;
    }

    /** ioredis calls this with the fields of INFO before it sends commands, and connects again if the result is false. */
    override check(info: { readonly role?: string }): boolean {
      clearTimeout(this.#timer);
      const isPrimary = super.check(info) && info.role !== 'slave';
      if (!isPrimary) this.stream.destroy(new NotPrimaryError('Redis is a replica here, and takes no writes'));
      return isPrimary;
    }
  }
  return PrimaryOnly;
}

function open({ host, port, path, family, tls }: RedisOptions): Connected {
  const place = path ? { path } : { host, port: port ?? 6_379, ...(family && { family }) };
  return tls ? connectSecured({ ...place, ...tls }) : connectPlain(place);
}

export class AddressConnector extends AbstractConnector {
  constructor(protected readonly options: RedisOptions) {
    super(options.disconnectTimeout ?? 2_000);
  }

  override async connect(_tell: Tell): Promise<Connected> {
    this.connecting = true;
    return this.opened(this.options);
  }

  protected opened(options: RedisOptions): Connected {
    this.stream = open(options);
    this.stream.once('error', (error: Error) => {
      this.firstError = error;
    });
    return this.stream;
  }
}

/**
 * Error codes of the Redis protocol which say that the server is a replica, becomes a replica, or no longer serves the slot.
 */
const WRONG_SERVER = /^(?:READONLY|UNBLOCKED|MASTERDOWN|LOADING|MOVED|CLUSTERDOWN)\b/;
/**
 * A primary that lost its replicas may be cut off while another server is the primary. Or it just waits for its replicas.
 */
const MAYBE_WRONG = /^NOREPLICAS\b/;
const LOOK_MS = 5_000;
const ASK_MS = 1_000;

/**
 * Returns a function for `reconnectOnError`, the same for each way of reaching Redis. If the server refuses what only a
 * primary does, the connection looks for the primary again.
 * @param again what ioredis does with the refused command; 2 sends it again on the next connection
 */
export function wrongServer(again: true | 2): (error: Error) => boolean | 2 {
  let lookedAt = -Infinity;
  return ({ message }) => {
    if (WRONG_SERVER.test(message)) return again;
    if (!MAYBE_WRONG.test(message) || performance.now() - lookedAt < LOOK_MS) return false;
    lookedAt = performance.now();
    return again;
  };
}

/**
 * Asks the server for its role each second, and ends the connection if the server became a replica. `wrongServer` alone does
 * not notice that, because a replica answers reads, and because ioredis does not report an error within the answer to EXEC.
 */
export function watchRole(redis: Redis): void {
  let isAsking = false;
  const ask = async (): Promise<void> => {
    if (isAsking || redis.status !== 'ready') return;
    isAsking = true;
    try {
      const { stream } = redis;
      if (/^role:slave/m.test(await redis.info('replication')))
        stream.destroy(new NotPrimaryError('Redis became a replica, and takes no writes'));
    } catch {
      // The connection itself reports that it is away.
    } finally {
      isAsking = false;
    }
  };
  const timer = setInterval(() => void ask(), ASK_MS).unref();
  redis.on('end', () => clearInterval(timer));
}

const LOOK_AGAIN_MS = 100;
/** A failover is over after this time. */
const PATIENCE_MS = 10_000;

/**
 * Makes two connections lead to the same Redis server. A failover moves one of them first. For some seconds the old primary
 * still accepts what is written to it, and loses this data when it becomes a replica.
 */
export class OneServer {
  #agreed: Promise<void> | undefined;

  /**
   * @param leading the connection whose server is used
   * @param following the connection that is moved to this server; it must send again what was not answered
   */
  constructor(
    private readonly leading: Redis,
    private readonly following: Redis,
  ) {
    leading.on('ready', () => {
      this.#agreed = undefined;
      // The old primary may be frozen, and may later answer what it has received.
      reconnect(following);
    });
    following.on('ready', () => (this.#agreed = undefined));
  }

  /**
   * Resolves when both connections lead to the same server.
   * @throws Error if they still lead to two servers after ten seconds, or the error of a connection that is away
   */
  async agreed(): Promise<void> {
    const agreed = (this.#agreed ??= this.#agree());
    try {
      await agreed;
    } catch (error) {
      if (this.#agreed === agreed) this.#agreed = undefined;
      throw error;
    }
    // A connection was opened again meanwhile, so the servers are compared again.
    if (this.#agreed !== agreed) await this.agreed();
  }

  async #agree(): Promise<void> {
    const since = performance.now();
    while ((await serverOf(this.leading)) !== (await serverOf(this.following))) {
      if (performance.now() - since > PATIENCE_MS) throw new Error('The connections to Redis lead to two servers');
      reconnect(this.following);
      await delay(LOOK_AGAIN_MS);
    }
  }
}

/** Returns the id that Redis gives itself at each start. */
const serverOf = async (redis: Redis): Promise<string | undefined> =>
  /^run_id:(\S+)/m.exec(await redis.info('server'))?.[1];

/**
 * Destroys the stream, because `disconnect` waits for the server and accepts its answers. An opening connection is left
 * alone.
 */
function reconnect(redis: Redis): void {
  if (redis.status === 'ready') redis.stream.destroy();
}
