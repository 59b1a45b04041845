// Jest's order of suites. Left to itself it starts the largest files first in a fresh clone, and the longest suite then
// runs alone at the end; here the slow kinds begin. Attacks, which judge what others wait, run beside the short unit specs.
const KINDS = [/faults\.e2e-spec/, /\.e2e-spec/, /\.(?:model-|property\.)spec/, /\.live-spec/, /\.abuse-spec/];
const rank = ({ path }) => {
  const kind = KINDS.findIndex((pattern) => pattern.test(path));
  return kind < 0 ? KINDS.length : kind;
};

export default class LongestFirst {
  sort(tests) {
    return tests.toSorted((a, b) => rank(a) - rank(b));
  }

  /** Jest's durations are not stored: a fresh clone has none. */
  cacheResults() {}
}
