import { once } from 'node:events';
import { RegistryUnavailable } from '@relay/redis';
import { MemoryRegistryLog, memoryRegistry, startRedisServer, type RedisServer } from '@relay/testing';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { RegistryCompaction, type RegistryView } from './index.js';
import { aClient, aDeletion, anUpdate, aWebhook, snapshot as stateOf } from './spec-commands.js';

/** A command as one of three processes may send it; few ids and paths, so that they meet. */
const commands = fc.oneof(
  fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom('1', '2', '3')).map(([id, path]) => ({
    entity: 'webhook' as const,
    command: aWebhook(id, path),
  })),
  fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('1', '2', '3'), fc.nat(9)).map(([id, path, at]) => ({
    entity: 'webhook' as const,
    command: anUpdate(id, path, at),
  })),
  fc.constantFrom('a', 'b', 'c').map((id) => ({ entity: 'webhook' as const, command: aDeletion(id) })),
  fc.tuple(fc.constantFrom('x', 'y'), fc.constantFrom('h1', 'h2')).map(([id, hash]) => ({
    entity: 'client' as const,
    command: aClient(id, hash),
  })),
);

const steps = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('send' as const),
      process: fc.nat(2),
      what: commands,
      twice: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('die' as const), what: commands, id: fc.uuid() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('compact' as const),
      process: fc.nat(2),
      /** After so many of its appends it dies, or is taken for dead by another process; an append may be stored all the same. */
      dies: fc.option(fc.nat(12)),
      isStored: fc.boolean(),
      givenUp: fc.option(fc.nat(12)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('keep' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('rollback' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('empty' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('catch up' as const), process: fc.nat(2) }) },
);

let server: RedisServer;
let connections: Redis[];
beforeAll(async () => {
  server = await startRedisServer();
  connections = [0, 1, 2].map(() => new Redis(server.url()));
  await Promise.all(connections.map((connection) => once(connection, 'ready')));
});
afterAll(async () => {
  connections.forEach((connection) => connection.disconnect());
  await server.stop();
});

const silent = { error: () => {}, warn: () => {}, info: () => {}, debug: () => {} };

/** Makes a snapshot in a process that may die at any of its steps, and ends it for whoever has died. */
async function compact(
  redis: Redis,
  log: MemoryRegistryLog,
  step: { dies: number | null; isStored: boolean; givenUp: number | null },
): Promise<void> {
  const giveUp = async (): Promise<unknown> => {
    const id = await redis.hget('{relay:0}:registry:snapshot', 'id');
    return id && memoryRegistry(redis, log).order({ kind: 'abort', snapshot: id });
  };
  let appends = 0;
  let givingUp: Promise<unknown> | undefined;
  const died = new Error('died');
  const mortal: MemoryRegistryLog = Object.assign(Object.create(log) as MemoryRegistryLog, {
    append: async (id: string, value: Buffer) => {
      appends += 1;
      if (appends === step.givenUp) await (givingUp = giveUp());
      if (step.dies === null || appends <= step.dies) return log.append(id, value);
      if (appends === step.dies + 1 && step.isStored) await log.append(id, value);
      throw died;
    },
    deleteBefore: (offset: number) =>
      step.dies === null || appends < step.dies ? log.deleteBefore(offset) : Promise.reject(died),
  });
  const registry = memoryRegistry(redis, mortal);
  await new RegistryCompaction(redis, mortal, registry, silent).compact().catch(() => undefined);
  await givingUp;
  await memoryRegistry(redis, log).catchUp();
  if (step.dies !== null) await giveUp();
}

/** May be told that nothing is sure: then whatever was sent is in the log or not. */
const unlessUnsure = (work: Promise<unknown> | undefined): Promise<unknown> | undefined =>
  work?.catch((error: unknown) => {
    if (!(error instanceof RegistryUnavailable)) throw error;
  });

it('is the state of the log from its first command, after any sequence of changes, snapshots, crashes between the log and Redis, and losses of Redis', async () => {
  const [redis] = connections as [Redis];
  let freed = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(steps, { maxLength: 6 }), { maxLength: 6 }), async (rounds) => {
      await redis.flushdb();
      const log = new MemoryRegistryLog();
      const open = (): RegistryView[] => connections.map((connection) => memoryRegistry(connection, log));
      let processes = open();
      let kept: readonly [string, Buffer][] = [];
      for (const round of rounds) {
        // The steps of a round are at once.
        const ends = await Promise.allSettled(
          round.map(async (step) => {
            if (step.kind === 'die')
              return log.append(step.id, Buffer.from(JSON.stringify({ v: 1, id: step.id, ...step.what })));
            if (step.kind === 'catch up') return unlessUnsure(processes[step.process]?.catchUp());
            if (step.kind === 'compact') return compact(connections[step.process] ?? redis, log, step);
            if (step.kind !== 'send') return undefined;
            log.storesTwice = step.twice;
            const answer = processes[step.process]?.change(step.what.entity, step.what.command);
            log.storesTwice = false;
            return unlessUnsure(answer);
          }),
        );
        for (const end of ends) if (end.status === 'rejected') throw end.reason;
        if (round.some(({ kind }) => kind === 'keep')) kept = await dumpOf(redis);
        if (round.some(({ kind }) => kind === 'rollback')) {
          await restore(redis, kept);
          processes = open(); // each has a new connection
        }
        if (round.some(({ kind }) => kind === 'empty')) {
          await redis.flushdb();
          processes = open();
          await Promise.all(processes.map((process) => process.current()));
        }
      }
      await open()[0]?.current();
      const shown = await stateOf(redis);
      await redis.flushdb();
      await open()[1]?.current();
      expect(await stateOf(redis)).toEqual(shown);
      if (log.start > 0) freed += 1;
      log.start = 0;
      await redis.flushdb();
      await open()[2]?.current();
      expect(await stateOf(redis)).toEqual(shown);
    }),
    { numRuns: 100, endOnFailure: true },
  );
  expect(freed).toBeGreaterThan(5);
});

async function dumpOf(redis: Redis): Promise<[string, Buffer][]> {
  const names = await redis.keys('*');
  return Promise.all(names.map(async (name) => [name, await redis.dumpBuffer(name)]));
}

async function restore(redis: Redis, kept: readonly [string, Buffer][]): Promise<void> {
  await redis.flushdb();
  for (const [name, dump] of kept) await redis.restore(name, 0, dump);
}
