import { jest } from '@jest/globals';
import fc from 'fast-check';
import { MemoryPartitionProgress } from '@relay/testing';
import { secondGoesBack, histories, play, shardHistories, typeHistories, type Command } from './history.js';
import { OneHighWater } from './one-high-water.js';
import { APPLIED_WEBHOOK } from './simulated-webhooks.js';
import { World, type ProgressOf } from './world.js';

const RUNS = Number(process.env['MODEL_RUNS'] ?? 10_000);
const SEED = process.env['MODEL_SEED'];

/** Nest names its own pace; timers only, so that promises go on by themselves. */
beforeAll(() => {
  jest.useFakeTimers({
    doNotFake: ['setImmediate', 'clearImmediate', 'nextTick', 'queueMicrotask'],
  });
});
afterAll(() => {
  jest.useRealTimers();
});

interface Kind {
  readonly shards: number;
  readonly histories: fc.Arbitrary<Command[]>;
  readonly progressOf?: ProgressOf;
}

/** The histories take 1 to 2 minutes on an idle machine. A check that outlives its test clears the timers of the next one. */
const LONGEST_MS = 3_600_000;

const ONE: Kind = { shards: 1, histories };
const SEVERAL: Kind = { shards: 2, histories: shardHistories };

async function run(history: readonly Command[], kind: Kind, trace?: (line: string) => void): Promise<World> {
  const world = new World(trace, kind.shards, kind.progressOf);
  try {
    await play(history, world);
  } finally {
    world.end();
    jest.clearAllTimers();
  }
  return world;
}

/** Plays so many histories, at most until one fails. */
async function check(
  kind: Kind,
  numRuns: number,
  sums = { commands: 0, deliveries: 0, ofAppliedType: 0, duplicates: 0, faults: 0 },
): Promise<fc.RunDetails<[Command[]]>> {
  const property = fc.asyncProperty(kind.histories, async (history) => {
    const { faults, ledger } = await run(history, kind);
    sums.commands += history.length;
    sums.deliveries += ledger.deliveries;
    sums.ofAppliedType += ledger.deliveriesTo(APPLIED_WEBHOOK.url);
    sums.duplicates += ledger.duplicates;
    sums.faults += faults;
  });
  const result = await fc.check(property, { numRuns, ...(SEED === undefined ? {} : { seed: Number(SEED) }) });
  process.stdout.write(
    `seed ${result.seed}, ${kind.shards} shards: ${result.numRuns} histories, ${JSON.stringify(sums)}, lost ${result.failed ? 'something' : 0}\n`,
  );
  return result;
}

describe('the way from the log to the endpoints', () => {
  it(
    'loses nothing in any history of crashes, rollbacks, moves and broken connections',
    async () => {
      const result = await check(ONE, RUNS);
      expect(result.failed ? await told(result, ONE) : '').toBe('');
    },
    LONGEST_MS,
  );

  it(
    'loses nothing if several shards go back and are cut off one by one',
    async () => {
      const result = await check(SEVERAL, RUNS);
      expect(result.failed ? await told(result, SEVERAL) : '').toBe('');
    },
    LONGEST_MS,
  );

  it.each([1, 2])(
    'loses nothing, and finds no poison, if an event type appears and is archived while partitions move (shards: %d)',
    async (shards) => {
      const kind = { shards, histories: typeHistories };
      const sums = { commands: 0, deliveries: 0, ofAppliedType: 0, duplicates: 0, faults: 0 };
      const result = await check(kind, Math.ceil(RUNS / 2), sums);
      expect(result.failed ? await told(result, kind) : '').toBe('');
      expect(sums.ofAppliedType).toBeGreaterThan(0);
    },
    LONGEST_MS,
  );

  it('would lose something if all shards had one high water', async () => {
    const progressOf: ProgressOf = (state, shard, all) =>
      shard === 0 ? new MemoryPartitionProgress(state) : new OneHighWater(state, all[0] ?? state);
    const result = await check({ shards: 2, histories: secondGoesBack, progressOf }, RUNS);
    expect(String(result.errorInstance)).toMatch(/is lost: \S+ never got/);
  });
});

/** The shortest history that fails, and all that happened in it. */
async function told(result: fc.RunDetails<[Command[]]>, kind: Kind): Promise<string> {
  const lines: string[] = [];
  await run(result.counterexample?.[0] ?? [], kind, (line) => lines.push(line)).catch((error: unknown) =>
    lines.push(String(error)),
  );
  return `${await fc.asyncDefaultReportMessage(result)}\n\n${lines.join('\n')}`;
}
