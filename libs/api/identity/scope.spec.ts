import { narrowScopes, TypePatterns, typeRefusal } from './index.js';

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

describe('the event types of a source', () => {
  it.each([
    [[], 'task.created', true],
    [['order.*'], 'order.paid', true],
    [['order.*'], 'order.paid.v2', true],
    [['order.*'], 'order', false],
    [['order.*'], 'orders.paid', false],
    [['order.*'], 'x.order.paid', false],
    [['order.*'], 'Order.paid', false],
    [['order'], 'order.paid', false],
    [['invoice.paid', 'order.*'], 'invoice.paid', true],
    [['invoice.paid'], 'invoice.paid.v2', false],
  ])('with %j: %s may be sent: %s', (patterns, type, isPermitted) => {
    expect(typeRefusal(patterns, type) === undefined).toBe(isPermitted);
  });

  it('are named in the refusal, however long the type and however many they are', () => {
    expect(typeRefusal(['order.*', 'invoice.paid'], 'task.created')).toBe(
      'This source may not send "task.created": it may send order.*, invoice.paid.',
    );
    const many = Array.from({ length: 100 }, (_, n) => `t${n}`);
    expect(typeRefusal(many, 'x'.repeat(100_000))).toMatch(/^.{1,300}: it may send t0, .*, t9, 90 more\.$/);
  });

  it.each(['*', 'order.', 'order*', '.order', 'order.*.paid', 'order.**', 'a b', 'order/paid', '', 'x'.repeat(241)])(
    'are no pattern such as %j',
    (pattern) => {
      expect(TypePatterns.safeParse(['order.*', pattern]).error?.issues).toEqual([
        expect.objectContaining({ path: [1] }),
      ]);
    },
  );
});
