import { jest } from '@jest/globals';
import fc from 'fast-check';
import { histories, play, type Command } from './history.js';
import { World } from './world.js';

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

async function run(history: readonly Command[], trace?: (line: string) => void): Promise<World> {
  const world = new World(trace);
  try {
    await play(history, world);
  } finally {
    world.end();
    jest.clearAllTimers();
  }
  return world;
}

describe('the way from the log to the endpoints', () => {
  it('loses nothing in any history of crashes, rollbacks, moves and broken connections', async () => {
    const sums = { commands: 0, deliveries: 0, duplicates: 0, faults: 0 };
    const property = fc.asyncProperty(histories, async (history) => {
      const {
        faults,
        ledger: { deliveries, duplicates },
      } = await run(history);
      sums.commands += history.length;
      sums.deliveries += deliveries;
      sums.duplicates += duplicates;
      sums.faults += faults;
    });
    const result = await fc.check(property, { numRuns: RUNS, ...(SEED === undefined ? {} : { seed: Number(SEED) }) });
    process.stdout.write(
      `seed ${result.seed}: ${result.numRuns} histories, ${JSON.stringify(sums)}, lost ${result.failed ? 'something' : 0}\n`,
    );
    expect(result.failed ? await told(result) : '').toBe('');
  });
});

/** The shortest history that fails, and all that happened in it. */
async function told(result: fc.RunDetails<[Command[]]>): Promise<string> {
  const lines: string[] = [];
  await run(result.counterexample?.[0] ?? [], (line) => lines.push(line)).catch((error: unknown) =>
    lines.push(String(error)),
  );
  return `${await fc.asyncDefaultReportMessage(result)}\n\n${lines.join('\n')}`;
}
