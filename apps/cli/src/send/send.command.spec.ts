import { describe, expect, it } from '@jest/globals';
import { EVENT_TYPES, readEnvelope } from '@relay/events';
import { envelopeText, samplePayload } from './send.command.js';

const id = '11111111-1111-4111-8111-111111111111';

describe('a sample', () => {
  it.each(EVENT_TYPES)('is for each type an envelope that the ingress accepts: %s', (type) => {
    const text = envelopeText(
      id,
      type,
      samplePayload(type, () => id),
    );
    expect(readEnvelope(Buffer.from(text), [])).toMatchObject({ ok: true, envelope: { id, type } });
  });

  it('keeps the text of a payload as it was written', () => {
    const payload = '{ "b": 12345678901234567890, "a": 1.10 }';
    expect(envelopeText(id, 'plan.created', `${payload}\n`)).toContain(`"payload":${payload}}`);
  });
});
