import { EVENT_TYPES, readEnvelope } from '@relay/events';
import { exampleOf } from './event-catalogue.js';

describe('the example of an envelope', () => {
  it.each(EVENT_TYPES)('is valid for %s', (type) => {
    expect(readEnvelope(Buffer.from(JSON.stringify(exampleOf(type))), [])).toMatchObject({ ok: true });
  });
});
