import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';

const LOOK_AGAIN_MS = 100;
/** A failover is over by then. */
const PATIENCE_MS = 10_000;

/**
 * Whether two connections lead to the same Redis server. A failover moves one of them first: for some seconds the old primary
 * still takes what is written to it, and loses it when it becomes a replica.
 */
export class OneServer {
  #agreed: Promise<void> | undefined;

  /**
   * @param leading the connection whose server counts
   * @param following the connection that is moved to it; it must send again what was not answered
   */
  constructor(
    private readonly leading: Redis,
    private readonly following: Redis,
  ) {
    leading.on('ready', () => {
      this.#agreed = undefined;
      // The old primary may be frozen, and answer what it has received once it is not.
      reconnect(following);
    });
    following.on('ready', () => (this.#agreed = undefined));
  }

  /**
   * Resolves when both have the same server.
   * @throws Error when they still have two after ten seconds, or what `leading` throws while it is away
   */
  async agreed(): Promise<void> {
    const agreed = (this.#agreed ??= this.#agree());
    try {
      await agreed;
    } catch (error) {
      if (this.#agreed === agreed) this.#agreed = undefined;
      throw error;
    }
    // One of them was reconnected meanwhile.
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

/** The id that Redis gives itself at each start. */
const serverOf = async (redis: Redis): Promise<string | undefined> =>
  /^run_id:(\S+)/m.exec(await redis.info('server'))?.[1];

/** At once: `disconnect` would wait for the server, and take its answers. A connection that is being made is left alone. */
function reconnect(redis: Redis): void {
  if (redis.status === 'ready') redis.stream.destroy();
}
