// The few statistics of the benchmark.

/** The value below which that share of the values lies (nearest rank); 0 of none. */
export function quantile(values, share) {
  const sorted = Float64Array.from(values).toSorted();
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}

export const spread = (values) => ({
  min: Math.min(...values),
  median: quantile(values, 0.5),
  max: Math.max(...values),
});
