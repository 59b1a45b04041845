import { GoodAnswers } from './good-answers.js';

it('chooses one answer of a webhook in ten minutes', () => {
  const answers = new GoodAnswers();
  const due = (webhookId: string, ...minutes: number[]): boolean[] =>
    minutes.map((minute) => answers.isDue(webhookId, minute * 60_000));
  expect(due('w', 0, 1, 9.99, 10, 11, 20)).toEqual([true, false, false, true, false, true]);
  expect(due('v', 1, 2)).toEqual([true, false]);
});

it('remembers no more than 50,000 webhooks', () => {
  const answers = new GoodAnswers();
  for (let n = 0; n < 50_000; n += 1) answers.isDue(String(n), 0);
  expect(answers.isDue('7', 1)).toBe(false);
  expect(answers.isDue('one more', 1)).toBe(true);
  expect(answers.isDue('7', 1)).toBe(true);
});
