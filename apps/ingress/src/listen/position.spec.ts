import type { EventType } from '@relay/events';
import * as fc from 'fast-check';
import { madeAnew, MOST_BEHIND, positionIn, positionText, resumed, type Position } from './listener.js';

const at = (places: Partial<Record<EventType, number[]>>): Position =>
  new Map(Object.entries(places) as [EventType, number[]][]);

describe('a position', () => {
  it('is read as it was written', () => {
    const types = fc.constantFrom<EventType>('task.created', 'plan.created', 'tax_return.filed');
    const offsets = fc.dictionary(types, fc.array(fc.maxSafeNat(), { minLength: 0, maxLength: 8 }));
    fc.assert(
      fc.property(fc.nat(), offsets, (told, places) => {
        const position = at(places);
        const topicIds = new Map([...position.keys()].slice(1).map((type) => [type, 'b3f2'] as const));
        const whole = { at: told, position, topicIds };
        expect(positionIn(positionText(whole))).toEqual(whole);
      }),
    );
  });

  it('is of another topic where that has another id', () => {
    const told = new Map([
      ['task.created', 'a'],
      ['plan.created', 'b'],
      ['plan.updated', 'c'],
    ] as const);
    expect(
      madeAnew(
        told,
        new Map([
          ['task.created', 'a'],
          ['plan.created', 'd'],
        ]),
      ),
    ).toEqual(['plan.created']);
  });
});

describe('resumed', () => {
  const first = at({ 'task.created': [10, 0] });
  const end = at({ 'task.created': [100, 50] });

  it.each([
    ['where it was', at({ 'task.created': [90, 50] }), at({ 'task.created': [90, 50] })],
    ['at the first record of a new partition', at({ 'task.created': [100] }), at({ 'task.created': [100, 0] })],
    ['at the end of a type that is new to it', at({ 'plan.created': [3] }), end],
  ])('goes on %s', (_, told, position) => {
    expect(resumed(told, first, end)).toEqual({ position, isWhole: true });
  });

  it.each([
    ['deleted what came next', at({ 'task.created': [9, 50] })],
    ['lost its end', at({ 'task.created': [101, 50] })],
    ['was created anew with fewer partitions', at({ 'task.created': [100, 50, 0] })],
  ])('begins at the end where the log %s', (_, told) => {
    expect(resumed(told, first, end)).toEqual({ position: end, isWhole: false });
  });

  it('begins at the end where too much lies between', () => {
    const far = at({ 'task.created': [MOST_BEHIND + 1, 50] });
    expect(resumed(at({ 'task.created': [10, 50] }), first, far).isWhole).toBe(true);
    expect(resumed(at({ 'task.created': [10, 49] }), first, at({ 'task.created': [MOST_BEHIND + 10, 50] }))).toEqual({
      position: at({ 'task.created': [MOST_BEHIND + 10, 50] }),
      isWhole: false,
    });
  });
});
