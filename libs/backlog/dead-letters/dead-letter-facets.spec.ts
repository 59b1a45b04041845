import { FacetCounts } from './dead-letter.js';

const letter = (webhookId: string, reason: 'gone' | 'horizon_passed' = 'gone') => ({
  eventType: 'task.created',
  partnerId: 'p',
  webhookId,
  reason,
});

describe('the facets of dead letters', () => {
  it('count each value, the most frequent first', () => {
    const counts = new FacetCounts();
    for (const each of [letter('b'), letter('a', 'horizon_passed'), letter('b')]) counts.add(each);
    expect(counts.facets).toEqual({
      matched: 3,
      types: [{ value: 'task.created', count: 3 }],
      reasons: [
        { value: 'gone', count: 2 },
        { value: 'horizon_passed', count: 1 },
      ],
      webhooks: [
        { value: 'b', count: 2 },
        { value: 'a', count: 1 },
      ],
      partners: [{ value: 'p', count: 3 }],
    });
  });

  it('name the hundred most frequent values, and count all', () => {
    const counts = new FacetCounts();
    for (let index = 0; index < 150; index += 1) counts.add(letter(`w${String(index).padStart(3, '0')}`));
    counts.add(letter('w149'));
    const { matched, webhooks } = counts.facets;
    expect([matched, webhooks.length, webhooks[0]]).toEqual([151, 100, { value: 'w149', count: 2 }]);
  });
});
