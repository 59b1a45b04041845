import { ProblemError } from '@relay/problem';
import { etagOf, readIfMatch } from './fastify-request.js';

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

  it('names the version of which an entity tag was made', () => {
    expect(readIfMatch(etagOf(42))).toEqual([42]);
  });
});
