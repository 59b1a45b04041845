import { TextMemory } from './client-directory.js';

const end = 'e'.repeat(43);

describe('the memory of proven texts', () => {
  it('finds what was stored for exactly this text', () => {
    const memory = new TextMemory<number>(10);
    memory.set(`a${end}`, 1);
    memory.set('short', 2);
    expect([memory.get(`a${end}`), memory.get('short')]).toEqual([1, 2]);
  });

  it.each([
    ['another beginning', `b${end}`],
    ['a longer beginning', `aa${end}`],
    ['only its end', end],
    ['another end', `a${end.slice(1)}f`],
    ['nothing', ''],
  ])('finds nothing for a text with %s', (_, text) => {
    const memory = new TextMemory<number>(10);
    memory.set(`a${end}`, 1);
    expect(memory.get(text)).toBeUndefined();
  });

  it('keeps no text of more than 2,048 characters, and no more texts than its limit', () => {
    const memory = new TextMemory<number>(2);
    memory.set('l'.repeat(2_049), 1);
    expect(memory.get('l'.repeat(2_049))).toBeUndefined();
    for (const text of ['a', 'b', 'c']) memory.set(text, 1);
    expect(['a', 'b', 'c'].filter((text) => memory.get(text) === 1)).toEqual(['b', 'c']);
  });
});
