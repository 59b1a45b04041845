import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { deliveryId, parseDeliveryId } from './delivery.js';

const WEBHOOK = '0b6f2d0e-8c5f-4f7e-9d0a-3c1b5a7e9f10';
const ENVELOPE = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6';
const HASH = '00ff12ab34cd56ef';
const hex = (length: number) =>
  fc
    .array(fc.nat(15), { minLength: length, maxLength: length })
    .map((digits) => digits.map((d) => d.toString(16)).join(''));

describe('deliveryId', () => {
  it('joins webhook, envelope, content hash and replay number', () => {
    expect(deliveryId({ webhookId: WEBHOOK, envelopeId: ENVELOPE, hash: HASH, series: 2 })).toBe(
      `${WEBHOOK}_${ENVELOPE}_${HASH}_2`,
    );
  });

  it('is parsed back to the same delivery, and contains no colon', () => {
    const uuid = fc.tuple(hex(8), hex(4), hex(4), hex(4), hex(12)).map((parts) => parts.join('-'));
    const delivery = fc.record({
      webhookId: fc.oneof(uuid, fc.constant('-')),
      envelopeId: uuid,
      hash: hex(16),
      series: fc.nat(),
    });
    fc.assert(
      fc.property(delivery, (d) => {
        expect(parseDeliveryId(deliveryId(d))).toEqual(d);
        expect(deliveryId(d)).not.toContain(':');
      }),
    );
  });
});

describe('parseDeliveryId', () => {
  it.each([
    ['nothing', ''],
    ['a missing part', `${WEBHOOK}_${ENVELOPE}_${HASH}`],
    ['a part too many', `${WEBHOOK}_${ENVELOPE}_${HASH}_0_0`],
    ['an upper-case id', `${WEBHOOK}_${ENVELOPE.toUpperCase()}_${HASH}_0`],
    ['no envelope', `${WEBHOOK}_-_${HASH}_0`],
    ['a short hash', `${WEBHOOK}_${ENVELOPE}_00ff_0`],
    ['a negative replay number', `${WEBHOOK}_${ENVELOPE}_${HASH}_-1`],
    ['a replay number with a leading zero', `${WEBHOOK}_${ENVELOPE}_${HASH}_01`],
    ['a replay number beyond exact integers', `${WEBHOOK}_${ENVELOPE}_${HASH}_${'9'.repeat(16)}`],
    ['a line break', `${WEBHOOK}_${ENVELOPE}_${HASH}_0\n`],
  ])('refuses %s', (_, id) => {
    expect(parseDeliveryId(id)).toBeUndefined();
  });
});
