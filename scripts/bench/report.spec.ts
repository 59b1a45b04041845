interface Spread {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

const imported = async <T>(name: string): Promise<T> => (await import(new URL(name, import.meta.url).href)) as T;
const { markdownOf, textOf } = await imported<{
  markdownOf: (result: object) => string;
  textOf: (result: object) => string;
}>('report.mjs');
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

describe('docs/evidence/performance.md', () => {
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
