import { once } from 'node:events';
import { MemoryRegistryLog, memoryRegistry, startRedisServer, type RedisServer } from '@relay/testing';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import type { RegistryView } from './index.js';
import { aClient, aDeletion, anUpdate, aWebhook, snapshot } from './spec-commands.js';

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
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('keep' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('rollback' as const) }) },
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

it('is what the log says, in whatever order senders, crashes between the log and Redis, and rollbacks of Redis come', async () => {
  const [redis] = connections as [Redis];
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(steps, { maxLength: 6 }), { maxLength: 6 }), async (rounds) => {
      await redis.flushdb();
      const log = new MemoryRegistryLog();
      const open = (): RegistryView[] => connections.map((connection) => memoryRegistry(connection, log));
      let processes = open();
      let kept: readonly [string, Buffer][] = [];
      for (const round of rounds) {
        // The steps of a round are at once.
        await Promise.all(
          round.map(async (step) => {
            if (step.kind === 'die')
              return log.append(step.id, Buffer.from(JSON.stringify({ v: 1, id: step.id, ...step.what })));
            if (step.kind === 'catch up') return processes[step.process]?.catchUp();
            if (step.kind !== 'send') return undefined;
            log.storesTwice = step.twice;
            const answer = processes[step.process]?.change(step.what.entity, step.what.command);
            log.storesTwice = false;
            return answer;
          }),
        );
        if (round.some(({ kind }) => kind === 'keep')) kept = await dumpOf(redis);
        if (round.some(({ kind }) => kind === 'rollback')) {
          await restore(redis, kept);
          processes = open(); // each has a new connection
        }
      }
      await open()[0]?.current();
      const shown = await snapshot(redis);
      await redis.flushdb();
      await open()[1]?.current();
      expect(shown).toEqual(await snapshot(redis));
    }),
    { numRuns: 60 },
  );
});

async function dumpOf(redis: Redis): Promise<[string, Buffer][]> {
  const names = await redis.keys('*');
  return Promise.all(names.map(async (name) => [name, await redis.dumpBuffer(name)]));
}

async function restore(redis: Redis, kept: readonly [string, Buffer][]): Promise<void> {
  await redis.flushdb();
  for (const [name, dump] of kept) await redis.restore(name, 0, dump);
}
