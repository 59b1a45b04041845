import { bytesText, countOf, distanceText, durationText, timeText, utcText } from './times.js';

const AT = new Date('2026-03-09T07:05:03.250Z');

describe('a time', () => {
  it('is in the zone of the reader, with UTC beside it', () => {
    expect(timeText(AT, 'Asia/Tokyo')).toBe('09 Mar 2026, 16:05:03');
    expect(utcText(AT)).toBe('2026-03-09 07:05:03 UTC');
  });

  it.each([
    [-1_000, '1 second ago'],
    [-180_000, '3 minutes ago'],
    [7_200_000, 'in 2 hours'],
    [-86_400_000, 'yesterday'],
    [0, 'now'],
  ])('that is %d ms from now is %s', (ms, text) => {
    expect(distanceText(new Date(AT.getTime() + ms), AT.getTime())).toBe(text);
  });
});

it.each([
  [0, '0 ms'],
  [85.4, '85 ms'],
  [1_340, '1.3 s'],
  [5_000, '5 s'],
  [59_990, '60 s'],
  [245_000, '4 min 5 s'],
  [7_380_000, '2 h 3 min'],
  [90_000_000, '1 d 1 h'],
  [86_400_000, '1 d'],
])('a duration of %d ms is %s', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

it.each([
  [0, '0 B'],
  [312, '312 B'],
  [1_024, '1.0 KiB'],
  [1_572_864, '1.5 MiB'],
])('%d bytes are %s', (bytes, text) => {
  expect(bytesText(bytes)).toBe(text);
});

it('countOf uses the right number of the noun', () => {
  expect([countOf(1, 'delivery', 'deliveries'), countOf(12_000, 'webhook')]).toEqual(['1 delivery', '12,000 webhooks']);
});
