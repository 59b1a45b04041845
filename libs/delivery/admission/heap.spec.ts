import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Heap } from './heap.js';

describe('Heap', () => {
  it('returns values by ascending key, however pushes and pops mix', () => {
    const step = fc.oneof({ weight: 3, arbitrary: fc.nat(50) }, { weight: 2, arbitrary: fc.constant('pop' as const) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const heap = new Heap<number>();
        const model: number[] = [];
        const popped: [value: number | undefined, expected: number | undefined][] = [];
        for (const next of steps) {
          if (next === 'pop') {
            popped.push([heap.pop(), model.shift()]);
          } else {
            heap.push(next, next);
            model.push(next);
            model.sort((a, b) => a - b);
          }
          expect(heap.firstKey).toBe(model[0]);
        }
        for (const [value, expected] of popped) expect(value).toBe(expected);
      }),
    );
  });

  it('returns no value before its key', () => {
    const heap = new Heap<string>();
    heap.push(5, 'five');
    expect(heap.popUntil(4)).toBeUndefined();
    expect(heap.popUntil(5)).toBe('five');
    expect(heap.popUntil(5)).toBeUndefined();
  });
});
