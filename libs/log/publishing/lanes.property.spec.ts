import * as fc from 'fast-check';
import { open, turn, type Sending } from './spec-lanes.js';

const HOWS = ['stored', 'unavailable', 'refused', 'timeout'] as const;

describe('lanes', () => {
  it('answer each record once, keep the order of a partition and count every byte, whatever the brokers do', async () => {
    const anyStep = fc.oneof(
      { weight: 4, arbitrary: fc.record({ add: fc.nat(3) }) },
      {
        weight: 3,
        arbitrary: fc.record({ end: fc.nat(5), how: fc.constantFrom(...HOWS) }),
      },
      { weight: 2, arbitrary: fc.record({ pass: fc.integer({ min: 1, max: 3_000 }) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 60 }), async (steps) => {
        const changes = { maxBatchRecords: 3, maxRequestsPerBroker: 2, maxWaitingBytes: 3_000 };
        const { add, clock, sendings, lanes, outcomes } = open(changes, (_, partition) => partition % 2);
        const stored: string[] = [];
        const ended = new Set<Sending>();
        const added: string[] = [];
        const end = (sending: Sending | undefined, how: (typeof HOWS)[number]): void => {
          if (sending === undefined || ended.has(sending)) return;
          ended.add(sending);
          if (how !== 'stored') return sending.fail(how);
          stored.push(...sending.texts);
          return sending.succeed();
        };
        const running = (): Sending[] => sendings.filter((sending) => !ended.has(sending));
        for (const step of steps) {
          if ('add' in step) {
            added.push(`${step.add}:${added.length}`);
            add(added.at(-1) ?? '', step.add);
          } else if ('pass' in step) clock.pass(step.pass);
          else end(running()[step.end], step.how);
          await turn();
          const places = running().flatMap(({ batches }) => batches.map(({ partition }) => partition));
          expect(new Set(places).size).toBe(places.length);
        }
        while (running().length > 0 || clock.timers > 0) {
          for (const sending of running()) end(sending, 'stored');
          await turn();
          clock.pass(1_000);
          await turn();
        }
        expect(Object.keys(outcomes).toSorted()).toEqual(added.toSorted());
        expect(added.filter((text) => outcomes[text] === 'stored' && !stored.includes(text))).toEqual([]);
        expect(lanes.waitingBytes).toBe(0);
        for (const partition of [0, 1, 2, 3]) {
          const numbers = stored
            .filter((text) => text.startsWith(`${partition}:`))
            .map((text) => Number(text.slice(2)));
          expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
        }
      }),
      { numRuns: 200 },
    );
  });
});
