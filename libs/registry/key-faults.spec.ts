import { faultOfKeys, refusalOf, sealingFault } from './key-check.adapter.js';

it.each([
  [{}, [['a', '1']], undefined],
  [{ a: '1' }, [['a', '1']], undefined],
  [
    { a: '1' },
    [
      ['b', '2'],
      ['a', '1'],
    ],
    undefined,
  ],
  [{ a: '1', c: '3' }, [['b', '2']], 'lacks a, c:'],
  [{ a: '1' }, [['a', '2']], 'has another key under the name a:'],
  [{ a: '1', b: '2' }, [['a', '2']], 'lacks b and has another key under the name a:'],
] as const)('says of the registered keys %j and our own %j: %s', (known, ours, fault) => {
  const found = faultOfKeys(known, new Map(ours));
  expect(found ?? 'none').toContain(fault ?? 'none');
});

it.each([
  ['no key has written yet', {}, [['b', '2']], undefined, undefined],
  ['all are there', { a: '1' }, [['a', '1']], undefined, undefined],
  ['one of two is there', { a: '1', b: '2' }, [['a', '1']], undefined, undefined],
  [
    'an older key is another one of that name',
    { a: '1', b: '2' },
    [
      ['a', '1'],
      ['b', '9'],
    ],
    undefined,
    undefined,
  ],
  [
    'the first key is new',
    { a: '1' },
    [
      ['b', '2'],
      ['a', '1'],
    ],
    undefined,
    'begins with b',
  ],
  [
    'the first key is another one of that name',
    { a: '1', b: '2' },
    [
      ['b', '9'],
      ['a', '1'],
    ],
    'another key under the name b',
    'another key under the name b',
  ],
  ['none is in common', { a: '1' }, [['b', '2']], 'lacks a', 'lacks a'],
] as const)(
  'a process that opens nothing is refused, and so is a command whose values nobody can read: %s',
  (_what, known, ours, refusal, fault) => {
    expect(refusalOf(known, new Map(ours)) ?? 'none').toContain(refusal ?? 'none');
    expect(sealingFault(known, new Map(ours)) ?? 'none').toContain(fault ?? 'none');
  },
);
