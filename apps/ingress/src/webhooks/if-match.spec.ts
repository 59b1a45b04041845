import { ProblemError } from '@relay/problem';
import { etagOf, matchingVersion, readIfMatch } from './if-match.js';

describe('If-Match', () => {
  it.each([
    [undefined, undefined],
    ['*', undefined],
    [' * ', undefined],
    ['"7"', [7]],
    ['"7","8"', [7, 8]],
    ['"7" ,\t"8", "9"', [7, 8, 9]],
    // What is not ours, or weak, is no version that anything has.
    ['"of-another"', [-1]],
    ['W/"7"', [-1]],
    ['""', [-1]],
    ['"7,8", "9"', [-1, 9]],
  ])('%j names %j', (header, versions) => {
    expect(readIfMatch(header)).toEqual(versions);
  });

  it.each(['', ' ', '7', '"7', '"7" "8"', '"7",', ',"7"', '*, "7"', 'w/"7"', '"a b"', '"\u00e4"'])(
    '%j is refused',
    (header) => {
      expect(() => readIfMatch(header)).toThrow(ProblemError);
    },
  );

  it('matches the version that a webhook has, if it is named', () => {
    expect(readIfMatch(etagOf(42))).toEqual([42]);
    expect([matchingVersion([7, 8], 8), matchingVersion([7, 8], 9), matchingVersion([7], undefined)]).toEqual([
      8, -1, -1,
    ]);
  });
});
