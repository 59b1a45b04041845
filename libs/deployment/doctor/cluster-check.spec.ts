import { clockFindings } from './cluster-check.adapter.js';
import type { NodeFacts } from './cluster-state.js';

const NOW_MS = 1_800_000_000_000;

/** The first node has what is global. */
function findingsOf(...aheadMs: readonly (number | undefined)[]) {
  const nodes = aheadMs.map((ms, index): NodeFacts => ({
    id: String(index),
    name: `n${index}:6379`,
    hasFailed: false,
    slots: index === 0 ? [[0, 16_383]] : [],
    moving: [],
    answer:
      ms === undefined
        ? new Error('away')
        : { info: `# Server\r\nserver_time_usec:${(NOW_MS + ms) * 1_000}\r\n`, state: 'ok', config: {} },
  }));
  return clockFindings({ nodes, shards: [], global: { tag: '{relay:0}', slot: 7 } });
}

describe('the clocks of a cluster', () => {
  it.each([
    [[0, 900, -4_000], ['agree']],
    [[0, undefined, 10], ['agree']],
    [[undefined, 90_000], []],
    [
      [0, 90_000, -3_600_000],
      ['n1:6379 is 90 s ahead of n0:6379', 'n2:6379 is 3600 s behind n0:6379'],
    ],
  ])('are compared for nodes that are ahead by %j: %j', (aheadMs, expected) => {
    expect(findingsOf(...aheadMs).map(({ text }) => text.split(',')[0])).toEqual(expected);
  });
});
