import { readRecordHeaders } from './read-record.js';
import { continueTrace, traceIdOf } from './traceparent.js';

const valid = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

describe('continueTrace', () => {
  it.each([valid, valid.replace(/^00/, '01'), `${valid.replace(/^00/, 'cc')}-what-comes-later`])(
    'passes %s on',
    (header) => {
      expect(continueTrace(header)).toBe(header);
      // Whoever reads the record finds what was written.
      expect(readRecordHeaders({ traceparent: header })).toMatchObject({ traceparent: header });
    },
  );

  it.each([
    undefined,
    '',
    'x',
    valid.toUpperCase(),
    `${valid}-more`,
    valid.replace(/^00/, 'ff'),
    '00-00000000000000000000000000000000-b7ad6b7169203331-01',
    '00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01',
    `${valid}, ${valid}`,
  ])('starts a trace instead of %j', (header) => {
    const [one, other] = [continueTrace(header), continueTrace(header)];
    expect(one).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    expect(one).not.toBe(other);
    expect(readRecordHeaders({ traceparent: one })).toMatchObject({ traceparent: one });
  });
});

describe('traceIdOf', () => {
  it('is what all log lines of a trace have in common, and nothing where there is no trace', () => {
    expect([valid, `${valid}x`, undefined].map(traceIdOf)).toEqual([
      '0af7651916cd43dd8448eb211c80319c',
      undefined,
      undefined,
    ]);
  });
});
