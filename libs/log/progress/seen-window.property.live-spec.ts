import { RedisSeenStore, type SeenState } from '@relay/dedupe';
import { oneShard, onlyShard } from '@relay/redis';
import { moveSeenClock, redisOfSpec } from '@relay/testing';
import * as fc from 'fast-check';
import { RedisPartitionProgress } from './redis-partition-progress.adapter.js';

const { redis } = await redisOfSpec();

const HOUR = 3_600;
const WINDOW = 72 * HOUR;
/** A day of one generation, its margin, and what the clock is set back at most: from 2 h ahead to 2 h behind. */
const AT_MOST = WINDOW + 24 * HOUR + 5 * HOUR + 4 * HOUR;
const at = { topic: 'task.created', partition: 0 };
const entry = (n: number) => ({
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  hash: String(n).padStart(16, '0'),
});

/** What has to be remembered: when an id was first seen, in seconds that really passed, and its state. */
type Model = Map<number, { at: number; state: SeenState }>;

const ids = fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 8 });
const steps = fc.array(
  fc.oneof(
    fc.record({ do: fc.constantFrom('publish', 'look up', 'settle'), ids }),
    fc.record({
      do: fc.constant('pass' as const),
      // Also to the very end of a generation's day and of the window.
      seconds: fc.oneof(fc.integer({ min: 0, max: 40 * HOUR }), fc.constantFrom(24 * HOUR - 60, WINDOW - 60)),
    }),
    fc.record({ do: fc.constant('set clock' as const), to: fc.constantFrom(-2 * HOUR, 0, 2 * HOUR) }),
    // More ids than a generation takes, so that the next one opens before the day is over.
    fc.record({ do: fc.constant('fill' as const) }),
  ),
  { minLength: 5, maxLength: 25 },
);

const RANK: Readonly<Record<SeenState, number>> = { published: 0, settled: 1 };

describe('seen marks against a model', () => {
  it('keep every id with its latest state for the window, for clock changes of up to 2 h, and expire in the end', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        await redis.flushall();
        const seen = new RedisSeenStore(oneShard(redis), WINDOW * 1_000);
        const progress = new RedisPartitionProgress(onlyShard(redis), WINDOW * 1_000);
        const model: Model = new Map();
        let now = 0;
        let clock = 0;
        await progress.own(at, 'a', { take: true, start: 0 });
        let position = { highWater: 0, sequence: 1 };

        /** Compares the store with the model and drops what both may forget; after this they know the same ids. */
        const agree = async (): Promise<void> => {
          const known = [...model.keys()];
          const marks = await seen.find(known.map((n) => entry(n).id));
          for (const [index, n] of known.entries()) {
            const expected = model.get(n);
            const age = now - (expected?.at ?? 0);
            if (age <= WINDOW) expect(marks[index]).toBeDefined();
            if (age > AT_MOST) expect(marks[index]).toBeUndefined();
            if (marks[index] === undefined) model.delete(n);
            else expect(marks[index]).toEqual({ state: expected?.state, hash: entry(n).hash });
          }
        };
        const advance = (n: number, state: SeenState): void => {
          const known = model.get(n);
          if (known === undefined) model.set(n, { at: now, state });
          else if (RANK[state] > RANK[known.state]) known.state = state;
        };
        for (const step of history) {
          await agree();
          switch (step.do) {
            case 'publish':
              await seen.markPublished(step.ids.map(entry));
              for (const n of step.ids) advance(n, 'published');
              break;
            case 'look up': {
              const { results } = await progress.lookUp(at, step.ids.map(entry));
              for (const [index, n] of step.ids.entries())
                expect(results[index]).toBe(model.get(n)?.state === 'settled' ? 'duplicate' : 'open');
              break;
            }
            case 'settle': {
              const next = { ...position, sequence: position.sequence + 1 };
              const settled = step.ids.map(entry);
              const write = { token: 'a', confirmed: position, next, settled, partial: [], whole: [] };
              expect(await progress.flush(at, write)).toBe(true);
              position = next;
              for (const n of step.ids) advance(n, 'settled');
              break;
            }
            case 'pass':
              now += step.seconds;
              await moveSeenClock(redis, step.seconds);
              break;
            case 'set clock':
              await moveSeenClock(redis, step.to - clock);
              clock = step.to;
              break;
            case 'fill':
              if ((await redis.exists('{relay:0}:seen')) === 1)
                await redis.hincrby('{relay:0}:seen', 'count', 72 * 2 ** 8);
              break;
            default:
              step satisfies never;
          }
        }
        await agree();
      }),
      { numRuns: 300 },
    );
  });
});
