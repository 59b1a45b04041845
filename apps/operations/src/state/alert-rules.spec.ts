import { readFileSync } from 'node:fs';
import { ALERT_RULES, AlertWatch, type Readings } from './alert-rules.js';

const MINUTE_MS = 60_000;
const due = (oldestS: number): Readings => ({ queues: [{ queue: 'deliveries', state: 'waiting', jobs: 1, oldestS }] });

describe('the rules of alerts', () => {
  const file = readFileSync(
    new URL('../../../../charts/partner-relay/files/alerts.yaml', import.meta.url),
    'utf8',
  ).split('- alert: ');
  const forOf = (rule: string): number => {
    const [, count = 0, unit = 'm'] = /\n +for: (\d+)([mh])\n/.exec(rule) ?? [];
    return Number(count) * (unit === 'h' ? 3_600 : 60);
  };

  it('are those of the chart', () => {
    const shipped = file.slice(1).map((rule) => ({
      name: rule.split('\n', 1)[0],
      severity: /severity: (\w+)/.exec(rule)?.[1],
      forS: forOf(rule),
      means: /description: (.+)/.exec(rule)?.[1],
    }));
    expect(ALERT_RULES.map(({ name, severity, forS, means }) => ({ name, severity, forS, means }))).toEqual(shipped);
    const otherwise = ALERT_RULES.filter(({ name, evaluated }) => {
      const rule = file.find((text) => text.startsWith(`${name}\n`));
      return evaluated !== undefined && rule?.includes(`\n        expr: ${evaluated.expr}\n`) !== true;
    });
    expect(otherwise).toEqual([]);
  });
});

describe('a rule', () => {
  let watch: AlertWatch;
  beforeEach(() => {
    watch = new AlertWatch(ALERT_RULES);
  });
  const stateOf = (name: string) => watch.states().find(({ rule }) => rule.name === name);
  /** Fed twice a minute. */
  const feed = (from: number, to: number, readings: Readings): void => {
    for (let at = from; at <= to; at += MINUTE_MS / 2) watch.feed(readings, at);
  };

  it('fires when it was true all the time of its `for`, and ends with the first reading that makes it false', () => {
    feed(0, 4.5 * MINUTE_MS, due(121));
    expect(stateOf('RelayRetriesOverdue')).toMatchObject({ state: 'pending', since: 0, value: 121 });
    watch.feed(due(122), 5 * MINUTE_MS);
    expect(stateOf('RelayRetriesOverdue')).toMatchObject({ state: 'firing', since: 0, value: 122 });
    watch.feed(due(120), 5.5 * MINUTE_MS);
    expect(stateOf('RelayRetriesOverdue')).toMatchObject({ state: 'quiet', value: 120 });
    watch.feed(due(121), 6 * MINUTE_MS);
    expect(stateOf('RelayRetriesOverdue')).toMatchObject({ state: 'pending', since: 6 * MINUTE_MS });
  });

  it('is unknown where its store is away, and begins anew after that or after a pause of this process', () => {
    expect(stateOf('RelayRetriesOverdue')).toMatchObject({ state: 'unknown' });
    feed(0, 5 * MINUTE_MS, due(121));
    watch.feed({}, 5.5 * MINUTE_MS);
    expect(stateOf('RelayRetriesOverdue')).toMatchObject({ state: 'unknown' });
    feed(6 * MINUTE_MS, 11 * MINUTE_MS, due(121));
    expect(stateOf('RelayRetriesOverdue')).toMatchObject({ state: 'firing' });
    watch.feed(due(121), 13 * MINUTE_MS);
    expect(stateOf('RelayRetriesOverdue')).toMatchObject({ state: 'pending', since: 13 * MINUTE_MS });
  });

  it.each<[string, Readings, Readings]>([
    ['RelayConsumerLag', { lag: 10_000 }, { lag: 10_001 }],
    ['RelayRedisMemory', { memory: { used: 60, max: 100 } }, { memory: { used: 61, max: 100 } }],
    ['RelayRedisMemory', { memory: { used: 60, max: 0 } }, { memory: { used: 61, max: 100 } }],
    [
      'RelayDeadLettersExpiring',
      { queues: [{ queue: 'dead-letters', state: 'waiting', jobs: 1, oldestS: 27 * 86_400 }] },
      { queues: [{ queue: 'dead-letters', state: 'waiting', jobs: 1, oldestS: 27 * 86_400 + 1 }] },
    ],
  ])('%s is quiet with %j and not with %j', (name, quiet, loud) => {
    watch.feed(quiet, 0);
    expect(stateOf(name)).toMatchObject({ state: 'quiet' });
    watch.feed(loud, 1);
    expect(stateOf(name)).toMatchObject({ state: 'pending' });
  });

  it('about metrics of other processes is never told as firing', () => {
    feed(0, 60 * MINUTE_MS, { ...due(1e9), lag: 1e9, memory: { used: 9, max: 10 } });
    const unknown = watch.states().flatMap(({ rule, state }) => (rule.evaluated === undefined ? [state] : []));
    expect(new Set(unknown)).toEqual(new Set(['unknown']));
  });
});
