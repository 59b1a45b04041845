import type { EventType } from '@relay/events';
import { lagOf, placesBehind, type Place } from './listen-reader.js';

const at = (offsets: Partial<Record<EventType, number[]>>) => ({
  nextOf: (type: EventType, partition: number) => offsets[type]?.[partition],
});
const head: Place[] = [
  { topic: 'task.created', type: 'task.created', partition: 0, offset: 9_000 },
  { topic: 'task.created', type: 'task.created', partition: 1, offset: 100 },
  { topic: 'plan.created', type: 'plan.created', partition: 0, offset: 50 },
];
const offsetsOf = (listeners: ReturnType<typeof at>[], turn: number): string[] =>
  placesBehind(listeners, head, turn).map(({ topic, partition, offset }) => `${topic} ${partition}: ${offset}`);

describe('placesBehind', () => {
  it('is empty while nobody is behind', () => {
    expect(offsetsOf([at({ 'task.created': [9_000, 100] }), at({ 'plan.created': [50] })], 1)).toEqual([]);
  });

  it('is one place for all who are close together, that of the last of them', () => {
    const listeners = Array.from({ length: 50 }, (_, n) => at({ 'task.created': [7_000 + n * 10, 100] }));
    for (const turn of [0, 1, 2, 49]) expect(offsetsOf(listeners, turn)).toEqual(['task.created 0: 7000']);
  });

  it('serves those who are far from each other in turns', () => {
    const listeners = [5_000, 8_999, 0, 8_900, 400].map((offset) => at({ 'task.created': [offset, 100] }));
    const turns = [0, 1, 2, 3].map((turn) => offsetsOf(listeners, turn));
    expect(turns).toEqual([0, 5_000, 8_900, 0].map((offset) => [`task.created 0: ${offset}`]));
  });

  it('lets each partition begin in turn: a broker fills its answer in this order', () => {
    const listeners = [at({ 'task.created': [10, 20], 'plan.created': [30] })];
    const [first, second, third] = ['task.created 0: 10', 'task.created 1: 20', 'plan.created 0: 30'];
    expect(offsetsOf(listeners, 3)).toEqual([first, second, third]);
    expect(offsetsOf(listeners, 4)).toEqual([second, third, first]);
    expect(offsetsOf(listeners, 5)).toEqual([third, first, second]);
  });
});

describe('lagOf', () => {
  it('counts what is between, of its own types alone, and no place beyond', () => {
    expect(lagOf(at({ 'task.created': [8_990, 200] }), head)).toBe(10);
    expect(lagOf(at({ 'plan.created': [0], 'task.created': [8_000, 99] }), head)).toBe(1_051);
    expect(lagOf(at({}), head)).toBe(0);
  });
});
