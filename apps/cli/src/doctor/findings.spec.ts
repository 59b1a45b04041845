import { describe, expect, it } from '@jest/globals';
import { fault, findingsText, isHealthy, ok, warning } from './finding.js';
import { redisFindings } from './redis-info.js';
import { storedFinding } from './stored-keys.js';

const info = (policy: string, aof: string): string =>
  `# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:${policy}\r\n# Persistence\r\naof_enabled:${aof}\r\n`;

describe('redisFindings', () => {
  it.each([
    ['noeviction', '1', ['ok', 'ok']],
    ['allkeys-lru', '1', ['fault', 'ok']],
    ['noeviction', '0', ['ok', 'warning']],
  ])('reads a policy %s with aof_enabled %s', (policy, aof, states) => {
    expect(redisFindings(info(policy, aof)).map(({ state }) => state)).toEqual(states);
  });

  it('takes a policy it is not told for a fault', () => {
    expect(isHealthy(redisFindings('# Server\r\n'))).toBe(false);
  });
});

describe('storedFinding', () => {
  it('names a record that no key opens', () => {
    const found = storedFinding('x', [
      { name: 'one', opens: true },
      { name: 'two', opens: false },
    ]);
    expect(found).toMatchObject({ state: 'fault', text: '1 of 2 cannot be read, such as two' });
  });

  it('is content when all open', () => {
    expect(storedFinding('x', [{ name: 'one', opens: true }])).toEqual(ok('x', '1 of 1 can be read'));
  });
});

describe('findingsText', () => {
  it('puts each fix under its fault and counts the faults only', () => {
    const text = findingsText([ok('a', 'well'), warning('bb', 'odd', 'mend it'), fault('c', 'bad', 'repair it')]);
    expect(text.split('\n').map((line) => line.trimEnd())).toEqual([
      'ok       a   well',
      'warning  bb  odd',
      '             fix: mend it',
      'fault    c   bad',
      '             fix: repair it',
      '1 fault found',
    ]);
  });
});
