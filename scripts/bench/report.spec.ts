interface Spread {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}
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
const { markdownOf, textOf } = await imported<{
  markdownOf: (result: object) => string;
  textOf: (result: object) => string;
}>('report.mjs');
const curves = await imported<{ markdownOf: (result: object) => string; chartOf: (result: object) => string }>(
  'curves-report.mjs',
);
const { roundUp } = await imported<{ roundUp: (value: number) => number }>('chart.mjs');
const { scenarios } = await imported<{ scenarios: Readonly<Record<string, { figures: object }>> }>('scenarios.mjs');

const spread = (median: number): Spread => ({ min: median, median, max: median });

/** What bench.mjs hands over: every figure 1 unless given. */
function aResult(names: readonly string[], given: Readonly<Record<string, Readonly<Record<string, number>>>>): object {
  const every = ['acceptedPerSecond', 'deliveriesPerSecond', 'answerP50', 'answerP99', 'receiptP50', 'receiptP99'];
  const spreadsOf = (keys: readonly string[], own: Readonly<Record<string, number>> = {}): object =>
    Object.fromEntries(keys.map((key) => [key, spread(own[key] ?? 1)]));
  const measured = names.map((name) => [
    name,
    {
      figures: spreadsOf([...every, 'jobs', 'redisCommands', 'redisBytes', 'cpuMs'], given[name]),
      cpu: spreadsOf(['ingress', 'worker', 'kafka', 'redis', 'load', 'endpoints'], given[name]),
      lost: 0,
      repeats: 0,
    },
  ]);
  return {
    measuredOn: '2026-11-25',
    runs: 3,
    machine: {},
    settings: {},
    scenarios: Object.fromEntries(measured),
    limits: {
      http: spreadsOf(['perSecond', 'cpuMs']),
      log: spreadsOf(['perSecond', 'cpuMs', 'kafkaMs'], { cpuMs: 0.07, kafkaMs: 0.03 }),
      post: spreadsOf(['perSecond', 'cpuMs'], { cpuMs: 0.04 }),
      fsync: spreadsOf(['p50', 'p99']),
    },
    processes: {},
    seenIds: [],
    waitingJobs: [],
  };
}

describe('docs/performance.md', () => {
  const b = { ingress: 0.128, worker: 0.124, kafka: 0.067, redis: 0.065, cpuMs: 0.384, receiptP99: 300 };

  it('tells where the time of a delivery goes, beside the limits', () => {
    const text = markdownOf(aResult(Object.keys(scenarios), { b }));
    expect(text).toContain('| accept an envelope | ingress | 128 | 70 | log limit |');
    expect(text).toContain('| store it, and hand it to the worker | kafka | 67 | 30 | Kafka of the log limit |');
    expect(text).toContain('| match, sign, post, report | worker | 124 | 40 | post limit |');
    expect(text).toContain('| remember ids, progress and history | redis | 65 | – | no limit has a Redis |');
    expect(text).toContain('| all |  | 384 | 140 | log limit, its Kafka and post limit |');
    expect(text).not.toMatch(/NaN|undefined/);
  });

  it.each([
    [900, '900 | 300 | 3.00 | ≤ 3.00 | met'],
    [1_200, '1,200 | 300 | 4.00 | ≤ 3.00 | missed'],
  ])('holds a p99 of %d ms on one core against that of all of them', (receiptP99, verdict) => {
    const text = markdownOf(aResult(Object.keys(scenarios), { b, f: { receiptP99 } }));
    expect(text).toContain(`| f | POST to receipt p99 on one core ÷ that of b | ${verdict} |`);
  });

  it('leaves out what was not run', () => {
    expect(textOf(aResult(['f'], {}))).not.toMatch(/÷ that of b|NaN/);
  });
});

describe('docs/curves.md', () => {
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
