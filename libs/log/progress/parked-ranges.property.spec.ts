import * as fc from 'fast-check';
import { ENVELOPES, PASS, REPLAYS, Simulation, WEBHOOKS } from './spec-parking-simulation.js';

interface Step {
  run(world: Simulation): void;
  toString(): string;
}
const step = (
  weight: number,
  name: string,
  args: readonly fc.Arbitrary<unknown>[],
  run: (world: Simulation, ...args: never[]) => void,
): fc.WeightedArbitrary<Step> => ({
  weight,
  arbitrary: fc.tuple(...args).map((values) => ({
    run: (world: Simulation) => run(world, ...(values as never[])),
    toString: () => `${name}(${values.join(', ')})`,
  })),
});
const webhook = fc.constantFrom(...WEBHOOKS);
const index = fc.nat(5);
const replay = fc.constantFrom(...REPLAYS);
const catchUp = (keys: readonly string[]): fc.WeightedArbitrary<Step> =>
  step(3, `catch up ${keys[0]}…`, [fc.integer({ min: 1, max: PASS })], (world, count: number) =>
    world.catchUp(keys, count),
  );
const work = [
  step(4, 'append', [fc.integer({ min: 1, max: ENVELOPES }), fc.nat(9)], (world, number: number, chance: number) => {
    if (chance > 0) world.log.push(number);
    else if (world.log.includes(number)) world.log.push(-number);
  }),
  step(6, 'hand out', [], (world) => world.handOut()),
  step(4, 'end', [index], (world, at: number) => world.end(at)),
  step(3, 'end caught', [index], (world, at: number) => world.endCaught(at)),
  step(4, 'flush', [fc.boolean()], (world, isWritten: boolean) => world.flush(isWritten)),
  step(1, 'crash', [], (world) => world.crash()),
];
const parking = [
  step(2, 'congest', [webhook], (world, id: string) => void world.congested.add(id)),
  step(2, 'relieve', [webhook], (world, id: string) => void world.congested.delete(id)),
  step(1, 'disable', [webhook], (world, id: string) => void world.disabled.add(id)),
  step(2, 'enable', [webhook], (world, id: string) => void world.disabled.delete(id)),
  step(
    3,
    'park a while',
    [webhook, fc.array(fc.integer({ min: 1, max: ENVELOPES }), { minLength: 1, maxLength: 3 })],
    (world, id: string, envelopes: number[]) => {
      world.congested.add(id);
      world.log.push(...envelopes);
      for (const _ of envelopes) world.handOut();
      world.congested.delete(id);
      world.close(id);
    },
  ),
  step(1, 'close', [webhook], (world, id: string) => world.close(id)),
  catchUp(WEBHOOKS),
];
const replaying = [
  step(
    2,
    'order',
    [replay, fc.nat(3), fc.integer({ min: 2, max: 6 })],
    (world, key: string, from: number, count: number) => world.order(key, from, count),
  ),
  step(3, 'take up', [replay], (world, key: string) => world.takeUp(key)),
  catchUp(REPLAYS),
];
/** Few kinds of steps at a time reach deeper than all of them together. */
const histories = fc.oneof(
  ...[
    [...work, ...parking],
    [...work, ...replaying],
    [...work, ...parking, ...replaying],
  ].map((kinds) => fc.array(fc.oneof(...kinds), { maxLength: 60, size: 'max' })),
);

describe('parked ranges against a model', () => {
  it('lose nothing, and repeat nothing except after a crash, in any order of parking, closing, catch-up, writing and crashing', () => {
    fc.assert(
      fc.property(histories, (history) => {
        const world = new Simulation();
        for (const each of history) {
          each.run(world);
          world.check();
        }
        expect(world.heal()).toEqual({ unsettled: 0, ranges: 0, waiting: 0 });
      }),
      { numRuns: 4_000 },
    );
  });

  // A history that random ones come upon once in some hundred thousand.
  it('do not deliver, after a crash, a conflict that a pass has skipped', () => {
    const world = new Simulation();
    world.log.push(1);
    world.congested.add('a');
    world.handOut();
    world.log.push(-1, 2, 1);
    for (let n = 0; n < 3; n += 1) world.handOut();
    world.congested.delete('a');
    world.close('a');
    world.catchUp(WEBHOOKS, 2);
    world.endCaught(0);
    world.flush(true);
    world.catchUp(WEBHOOKS, 1);
    world.flush(true);
    world.crash();
    world.check();
    expect(world.heal()).toEqual({ unsettled: 0, ranges: 0, waiting: 0 });
  });
});
