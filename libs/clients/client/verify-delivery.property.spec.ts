import { signatureHeader } from '@relay/delivery';
import { newSigningSecret } from '@relay/webhooks';
import * as fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { verifyDelivery } from './verify-delivery.js';

/** Any character; fast-check's own unit `binary` takes a second to set up. */
const character = fc
  .oneof(fc.nat(0x7f), fc.nat(0x10ffff))
  .map((point) => Buffer.from(String.fromCodePoint(point)).toString());

describe('verifyDelivery', () => {
  it('agrees with the worker and with standardwebhooks on 1,000 bodies, with either secret of a rotation', () => {
    const aSecret = fc
      .uint8Array({ minLength: 24, maxLength: 64 })
      .map((bytes) => newSigningSecret(Buffer.from(bytes)));
    const aBody = fc.oneof(
      fc.json({ stringUnit: character, maxDepth: 3 }),
      fc.string({ unit: character }).map((text) => JSON.stringify(text)),
    );
    fc.assert(
      fc.property(fc.uuid(), aSecret, aSecret, aBody, (id, newest, old, text) => {
        const now = Date.now(); // standardwebhooks takes no other
        const seconds = Math.floor(now / 1_000);
        const headers = {
          'webhook-id': id,
          'webhook-timestamp': String(seconds),
          'webhook-signature': signatureHeader([newest, old], id, seconds, Buffer.from(text)),
        };
        const genuine = { genuine: true, id, timestamp: seconds };
        for (const secret of [newest, old]) {
          expect(verifyDelivery(headers, Buffer.from(text), secret, now)).toEqual(genuine);
          expect(new Webhook(secret).verify(text, headers)).toEqual(JSON.parse(text));
        }
        const theirs = new Webhook(newest).sign(id, new Date(seconds * 1_000), text);
        expect(verifyDelivery({ ...headers, 'webhook-signature': theirs }, text, newest, now)).toEqual(genuine);
        expect(verifyDelivery(headers, `${text} `, [newest, old], now)).toEqual({
          genuine: false,
          reason: 'no-matching-signature',
        });
      }),
      { numRuns: 1_000 },
    );
  });
});
