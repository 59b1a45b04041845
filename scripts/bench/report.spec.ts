const imported = async <T>(name: string): Promise<T> => (await import(new URL(name, import.meta.url).href)) as T;
const { markdownOf } = await imported<{ markdownOf: (result: object) => string }>('report.mjs');
const { scenarios } = await imported<{ scenarios: Readonly<Record<string, { figures: object }>> }>('scenarios.mjs');

const spread = (median: number): object => ({ min: median, median, max: median });

/** What bench.mjs hands over: each figure of each scenario has this value. */
const aResult = (value: number): object => ({
  measuredOn: '2026-11-25',
  runs: 3,
  machine: {},
  settings: {},
  scenarios: Object.fromEntries(
    Object.entries(scenarios).map(([name, { figures }]) => [
      name,
      {
        figures: Object.fromEntries(Object.keys(figures).map((key) => [key, spread(value)])),
        cpu: { ingress: spread(value) },
        lost: 0,
        repeats: 0,
      },
    ]),
  ),
  checkUs: spread(value),
  processes: { kafka: { startMs: 900, idleMiB: 240 } },
});

describe('docs/evidence/performance.md', () => {
  it.each([
    [3, '| c | POST to receipt p50, ms | 3.0 | 3.0 | 3.0 | ≤ 5 | met |'],
    [6, '| c | POST to receipt p50, ms | 6.0 | 6.0 | 6.0 | ≤ 5 | missed |'],
    [6_000, '| a | accepted, /s | 6,000 | 6,000 | 6,000 | ≥ 6,000 | met |'],
    [10, '| – | CPU of the check of a 2 KiB payload by its JSON Schema, µs | 10.0 | 10.0 | 10.0 | ≤ 10 | met |'],
    [5_999, '| a | accepted, /s | 5,999 | 5,999 | 5,999 | ≥ 6,000 | missed |'],
  ])('holds a median of %d against its goal', (value, row) => {
    const text = markdownOf(aResult(value));
    expect(text).toContain(row);
    expect(text).toContain('| kafka | 900 | 240 | – |');
    expect(text).not.toMatch(/NaN|undefined/);
  });
});
