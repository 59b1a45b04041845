import { AppendOnlyFile, isRedisAway, type Shard } from '@relay/redis';
import { reasonOf, type Log } from '@relay/telemetry';

const LOOK_MS = 10_000;

/** Watches the disk of each Redis for as long as the process runs. */
export function watchDisks(servers: readonly Shard[], log: Log): void {
  const looks = servers.map((shard) => diskLook(shard, log));
  const look = (): void => looks.forEach((one) => void one());
  look();
  setInterval(look, LOOK_MS).unref();
}

function diskLook(shard: Shard, log: Log): () => Promise<void> {
  const file = new AppendOnlyFile(shard);
  let told: string | undefined;
  return async () => {
    try {
      const { fault } = await file.look(performance.now());
      if (fault !== undefined && fault !== told)
        log.warn(
          'redis.disk',
          'Redis has trouble with its disk, which may be full; while it lasts, the worker does not have it rewrite its file',
          { shard: shard.tag, reason: fault },
        );
      told = fault;
    } catch (error) {
      // The connection itself logs that a Redis is away. The next look asks that Redis again.
      if (isRedisAway(error) || told === reasonOf(error)) return;
      told = reasonOf(error);
      log.warn(
        'redis.not_rewritten',
        'Redis was not asked to rewrite its append-only file; if Redis restarted after its machine crashed, run BGREWRITEAOF',
        { shard: shard.tag, reason: told },
      );
    }
  };
}
