import { labelsOf } from './chart.js';

const HOUR = 3_600_000;

it.each([
  ['a day by the hour', 25, HOUR, '3=18:00 9=2 Jan 15=06:00 21=12:00'],
  ['an hour by the minute', 60, HOUR / 60, '0=15:00 15=15:15 30=15:30 45=15:45'],
  ['two days, from half an hour on', 48, HOUR, '9=2 Jan 21=12:30 33=3 Jan 45=12:30'],
  ['thirty days', 24 * 30, HOUR, '33=3 Jan 201=10 Jan 369=17 Jan 537=24 Jan 705=31 Jan'],
])('labels %s with round local times', (_name, count, stepMs, labels) => {
  const begin = new Date(2030, 0, 1, 15, count === 48 ? 30 : 0).getTime();
  const found = labelsOf(
    Array.from({ length: count }, (_, n) => begin + n * stepMs),
    stepMs,
  );
  expect(found.map(({ n, words }) => `${n}=${words}`).join(' ')).toBe(labels);
});
