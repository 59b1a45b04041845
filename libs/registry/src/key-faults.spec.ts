import { faultOfKeys } from './key-faults.js';

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
  expect(found ?? '').toContain(fault ?? '');
  expect(found === undefined).toBe(fault === undefined);
});
