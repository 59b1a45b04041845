import { narrowScopes } from './index.js';

describe('narrowScopes', () => {
  it.each([
    [undefined, ['webhooks', 'sessions']],
    ['sessions', ['sessions']],
    ['sessions webhooks', ['webhooks', 'sessions']],
    ['sessions sessions', ['sessions']],
    ['operations', undefined],
    ['sessions operations', undefined],
    ['', undefined],
    ['sessions  webhooks', undefined],
    ['sess"ions', undefined],
  ])('gives for %j', (requested, expected) => {
    expect(narrowScopes(['webhooks', 'sessions'], requested)).toEqual(expected);
  });
});
