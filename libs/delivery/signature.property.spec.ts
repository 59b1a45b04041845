import * as fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { newSigningSecret } from '@relay/webhooks';
import { signatureHeader } from './request.js';

/** Any character; fast-check's own unit `binary` takes a second to set up. */
const character = fc
  .oneof(fc.nat(0x7f), fc.nat(0x10ffff))
  .map((point) => Buffer.from(String.fromCodePoint(point)).toString());

describe('signatureHeader', () => {
  it('is verified by the official library for any JSON body, with the new and with the old secret', () => {
    const secret = fc.uint8Array({ minLength: 24, maxLength: 64 }).map((bytes) => newSigningSecret(Buffer.from(bytes)));
    const body = fc.json({ stringUnit: character, maxDepth: 3 });
    fc.assert(
      fc.property(fc.uuid(), secret, secret, body, (id, newest, old, text) => {
        const seconds = Math.floor(Date.now() / 1_000);
        const headers = {
          'webhook-id': id,
          'webhook-timestamp': String(seconds),
          'webhook-signature': signatureHeader([newest, old], id, seconds, Buffer.from(text)),
        };
        for (const each of [newest, old]) expect(new Webhook(each).verify(text, headers)).toEqual(JSON.parse(text));
        expect(() => new Webhook(newest).verify(`${text} `, headers)).toThrow('No matching signature');
      }),
      { numRuns: 300 },
    );
  });
});
