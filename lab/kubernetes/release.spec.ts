const file = new URL('release.mjs', import.meta.url).href;
const { judged } = (await import(file)) as { judged: (found: object, mayFail?: readonly string[]) => string };

const FOUND = {
  posted: 4,
  perSecond: 2,
  accepted: 3,
  failed: [{ at: '10:00:00.000', isKept: true, why: '503 Kafka did not answer' }],
  resent: 2,
  lost: 0,
  duplicates: 1,
  medianMs: 20,
  p99Ms: 90,
  slowestMs: 400,
};

describe('the judgement of a load', () => {
  it('says what became of the envelopes', () => {
    expect(judged(FOUND, ['503'])).toBe(
      '4 posted (2/s), 3 × 202, failed 1, resent 2, lost 0, duplicates 1; delivered after 20 ms (median), 90 ms (p99), 400 ms (slowest)',
    );
  });

  it.each([
    ['a failed request that must not fail', FOUND, [], /503 Kafka did not answer/],
    ['another failure than the one that may be', FOUND, ['ECONNRESET'], /503 Kafka did not answer/],
    ['a lost envelope', { ...FOUND, failed: [], lost: 1 }, [], /lost 1/],
  ] as const)('is a fault for %s', (_, found, mayFail, said) => {
    expect(() => judged(found, mayFail)).toThrow(said);
  });
});
