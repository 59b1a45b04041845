interface Point {
  readonly title: string;
  readonly perSecond: number;
  readonly cpu: Readonly<Record<string, number>>;
  readonly cpuMs: number;
  readonly p50?: number;
  readonly p99?: number;
  readonly lost: number;
}

const imported = async <T>(name: string): Promise<T> => (await import(new URL(name, import.meta.url).href)) as T;
const curves = await imported<{ markdownOf: (result: object) => string; chartOf: (result: object) => string }>(
  'curves-report.mjs',
);
const { roundUp } = await imported<{ roundUp: (value: number) => number }>('chart.mjs');

describe('docs/evidence/curves.md', () => {
  const point = (title: string, cpuMs: number, times = {}): Point => ({
    title,
    perSecond: 1_000,
    cpu: { ingress: cpuMs / 2, worker: cpuMs / 2 },
    cpuMs,
    lost: 0,
    ...times,
  });
  const times = { p50: 2, p99: 20 };
  const result = {
    measuredOn: '2026-11-25',
    machine: {},
    settings: {},
    ofOthers: [point('10', 0.4, times), point('10,000', 0.5, times)],
    ofOneType: [point('10', 0.2, times), point('10,000', 0.1, times)],
    rates: [point('2,000/s', 0.6, times), point('saturation', 0.4, { p50: 10, p99: 50 })],
    processes: [point('1 + 1', 0.4, times)],
    records: 100_000,
    draining: [
      point('keeping up, 1 worker', 0.4, times),
      point('filling the log for 1 worker', 0.15),
      point('draining it, 1 worker', 0.17),
    ],
  };

  it('holds filling and draining together against keeping up', () => {
    expect(curves.markdownOf(result)).toContain(
      '- filling and draining, 1 worker: 320 µs for each delivery, 0.80 × keeping up',
    );
  });

  it('says how steep the curves are', () => {
    const text = curves.markdownOf(result);
    expect(text).toContain('- catching up: 100,000 records after the warm-up');
    expect(text).toContain('- p99 at saturation ÷ p99 at 2,000/s: 2.5');
    expect(text).toContain('- CPU for each delivery beside 10,000 webhooks ÷ beside 10: 1.25');
    expect(text).not.toMatch(/NaN|undefined/);
  });

  it('has a picture with a mark for each point', () => {
    const picture = curves.chartOf(result);
    expect(picture.match(/<circle/g)).toHaveLength(2 * 2 + 2 * 2 + 2 * 2);
    expect(picture.match(/<rect/g)).toHaveLength(2);
    expect(picture).toContain('prefers-color-scheme: dark');
    expect(picture).not.toMatch(/NaN|undefined/);
  });

  it.each([
    [0.4, 0.5],
    [100, 100],
    [101, 200],
    [2_001, 2_500],
    [7_300, 10_000],
  ])('ends the axis of values up to %d at %d', (value, top) => {
    expect(roundUp(value)).toBeCloseTo(top);
  });
});
