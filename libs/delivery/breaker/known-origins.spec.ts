import { KnownOrigins, originOf } from './origin-turns.js';

const DAY_MS = 86_400_000;

describe('KnownOrigins', () => {
  it('keeps an origin for thirty days after its 2xx, and reports it once an hour', () => {
    const known = new KnownOrigins();
    expect([known.has('o', 0), known.isReportDue('o', 0)]).toEqual([false, true]);
    known.know('o', 1);
    expect([known.has('o', 1), known.isReportDue('o', 3_600_000)]).toEqual([true, false]);
    expect([known.isReportDue('o', 3_600_001), known.has('o', 30 * DAY_MS), known.has('o', 30 * DAY_MS + 1)]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('reports the next 2xx after a failed report, and knows the origin meanwhile', () => {
    const known = new KnownOrigins();
    known.knowUnreported('o', 30 * DAY_MS);
    expect([known.has('o', 30 * DAY_MS), known.isReportDue('o', 30 * DAY_MS)]).toEqual([true, true]);
  });

  it('is bounded: the origin that was reported longest ago is evicted', () => {
    const known = new KnownOrigins(2);
    for (const origin of ['a', 'b', 'a', 'c']) known.know(origin, 1);
    expect(['a', 'b', 'c'].map((origin) => known.has(origin, 1))).toEqual([true, false, true]);
  });
});

it('reads the origin of an endpoint', () => {
  expect(originOf('partner https://a.example:8443')).toBe('https://a.example:8443');
});
