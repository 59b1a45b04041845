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
  const named = { webhookId: WEBHOOK, envelopeId: ENVELOPE, hash: HASH, series: 2 };

  it('joins webhook, envelope, content hash, replay number and time of acceptance', () => {
    expect(deliveryId({ ...named, acceptedAt: 1_000 })).toBe(`${WEBHOOK}_${ENVELOPE}_${HASH}_2_1000`);
  });

  it('is the same where the envelope waited in the log or was replayed since', () => {
    const waited = deliveryId({ ...named, acceptedAt: 9_000, waitedSince: 1_000 });
    expect(waited).toBe(deliveryId({ ...named, acceptedAt: 1_000 }));
  });

  it('is parsed back to the same delivery, and contains no colon', () => {
    const uuid = fc.tuple(hex(8), hex(4), hex(4), hex(4), hex(12)).map((parts) => parts.join('-'));
    const delivery = fc.record({
      webhookId: fc.oneof(uuid, fc.constant('-')),
      envelopeId: uuid,
      hash: hex(16),
      series: fc.nat(),
      // A foreign producer may write any time.
      acceptedAt: fc.maxSafeInteger(),
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
    ['a missing part', `${WEBHOOK}_${ENVELOPE}_${HASH}_0`],
    ['a part too many', `${WEBHOOK}_${ENVELOPE}_${HASH}_0_1_0`],
    ['an upper-case id', `${WEBHOOK}_${ENVELOPE.toUpperCase()}_${HASH}_0_1`],
    ['no envelope', `${WEBHOOK}_-_${HASH}_0_1`],
    ['a short hash', `${WEBHOOK}_${ENVELOPE}_00ff_0_1`],
    ['a negative replay number', `${WEBHOOK}_${ENVELOPE}_${HASH}_-1_1`],
    ['a replay number with a leading zero', `${WEBHOOK}_${ENVELOPE}_${HASH}_01_1`],
    ['a replay number beyond exact integers', `${WEBHOOK}_${ENVELOPE}_${HASH}_${'9'.repeat(16)}_1`],
    ['a time with a leading zero', `${WEBHOOK}_${ENVELOPE}_${HASH}_0_01`],
    ['a line break', `${WEBHOOK}_${ENVELOPE}_${HASH}_0_1\n`],
  ])('refuses %s', (_, id) => {
    expect(parseDeliveryId(id)).toBeUndefined();
  });
});
