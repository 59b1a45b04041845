import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { CallerPlaces } from './connections.js';

describe('CallerPlaces', () => {
  let places: CallerPlaces;
  let begun: string[];
  beforeEach(() => {
    places = new CallerPlaces();
    begun = [];
  });
  const take = (caller: string, name: string, isLight = false): ServerResponse => {
    const answer = new ServerResponse(new IncomingMessage(new Socket()));
    places.take(caller, answer, () => begun.push(name), isLight);
    return answer;
  };
  const takeMany = (count: number, caller: string, isLight = false): ServerResponse[] =>
    Array.from({ length: count }, (_, n) => take(caller, `${caller}${n}`, isLight));

  it('begins eight of a caller, each further one when an earlier one is over, and those of others at once', () => {
    const own = takeMany(20, 'a');
    expect(begun).toHaveLength(8);
    take('b', 'of another');
    expect(begun.at(-1)).toBe('of another');
    own[3]?.emit('close');
    own[0]?.emit('close');
    expect(begun.slice(9)).toEqual(['a8', 'a9']);
  });

  it('begins 64 light ones', () => {
    const own = takeMany(70, 'a', true);
    expect(begun).toHaveLength(64);
    take('a', 'heavy');
    for (const answer of own) answer.emit('close');
    expect(begun.slice(64)).toEqual(['a64', 'a65', 'a66', 'a67', 'a68', 'a69', 'heavy']);
  });

  it('passes over one whose connection ended while it waited', () => {
    const own = takeMany(10, 'a');
    own[8]?.emit('close');
    own[0]?.emit('close');
    expect(begun.slice(8)).toEqual(['a9']);
  });

  it('begins none whose client left before, and gives it no place', () => {
    const left = new ServerResponse(new IncomingMessage(new Socket()));
    left.destroy();
    for (let n = 0; n < 20; n += 1) places.take('a', left, () => begun.push('left'));
    takeMany(9, 'a');
    expect(begun).toEqual(['a0', 'a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7']);
  });

  it('keeps nothing of a caller whose requests are over', () => {
    for (let round = 0; round < 3; round += 1) {
      begun = [];
      const own = takeMany(9, 'a');
      expect(begun).toHaveLength(8);
      for (const answer of own) answer.emit('close');
      expect(begun).toHaveLength(9);
    }
  });
});
