import { LineBudget } from './line-budget.js';

describe('the lines of one event word', () => {
  it('are all written up to the bound of a second, and again in the next second', () => {
    const budget = new LineBudget(2);
    const taken = [0, 10, 20, 999, 1_000].map((now) => budget.take('dead', now));
    expect(taken).toEqual([0, 0, undefined, undefined, 2]);
  });

  it('do not use up the bound of another word', () => {
    const budget = new LineBudget(1);
    expect([budget.take('dead', 0), budget.take('other', 0)]).toEqual([0, 0]);
  });

  it('report the count of dropped lines once', () => {
    const budget = new LineBudget(1);
    const taken = [0, 1, 2, 1_000, 2_000].map((now) => budget.take('dead', now));
    expect(taken).toEqual([0, undefined, undefined, 2, 0]);
  });
});
