// The ratio of two sides from pairs of runs, one of each side within seconds.
import { spread } from './numbers.mjs';

/** No slower than this. */
export const TOLERANCE = 0.03;
/** At least so sure that the median of many rounds lies in the range. */
const SURE = 0.85;

/** Chance that fewer than `k` of `n` tosses are heads. */
function fewerHeads(n, k) {
  let chance = 0;
  for (let heads = 0, ways = 1; heads < k; heads += 1) {
    chance += ways / 2 ** n;
    ways = (ways * (n - heads)) / (heads + 1);
  }
  return chance;
}

/**
 * Returns a range that holds the median, from so few values that nothing may be assumed of their distribution: from the k-th smallest
 * to the k-th largest, the closest that are sure enough (sign test). Undefined for fewer than four values.
 */
export function rangeOfMedian(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const { length } = sorted;
  let k = 0;
  while (k < length / 2 && 1 - 2 * fewerHeads(length, k + 1) >= SURE) k += 1;
  return k === 0 ? undefined : { low: sorted[k - 1], high: sorted[length - k] };
}

/**
 * Ratios are mine ÷ other, taken pair by pair; the range is that of the rounds' medians, since pairs of one round share their
 * processes and with them what a process has by luck.
 * @param rounds of each round its pairs `[mine, other]`
 * @param isRate more is better
 */
export function compare(rounds, isRate) {
  const pairs = rounds.flat();
  const side = (index) => spread(pairs.map((pair) => pair[index]));
  const ratioOf = ([mine, other]) => mine / other;
  const ratios = pairs.map(ratioOf);
  const ofRounds = rounds.map((round) => middle(round.map(ratioOf)));
  const range = rangeOfMedian(ofRounds);
  const ratio = { ...spread(ratios), median: middle(ratios) };
  return { mine: side(0), other: side(1), ratio, range, verdict: verdictOf(range, isRate) };
}

/** The median; of an even number the geometric mean of the two in the middle, so that it does not matter which side is above the line. */
function middle(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.sqrt(sorted[(values.length - 1) >> 1] * sorted[values.length >> 1]);
}

function verdictOf(range, isRate) {
  if (range === undefined) return 'too few rounds';
  const [worst, best] = isRate ? [range.low, range.high] : [1 / range.high, 1 / range.low];
  if (best < 1 - TOLERANCE) return 'SLOWER';
  if (worst > 1) return 'faster';
  return worst >= 1 - TOLERANCE ? 'no slower' : 'unclear';
}
