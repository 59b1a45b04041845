import { NOTICE_PAYLOADS } from './notice.js';
import { isNoticeType, NOTICE_TYPES } from './event-type.js';
import { eventTypes } from './event-types.js';
import { examplePayload } from './envelope.js';
import { readEnvelope, readNotice } from './read-envelope.js';

const ID = '0b9a4b1e-5a0f-4a8e-9f43-0c9d6f0a1b2c';

describe.each(NOTICE_TYPES)('a notice %s', (type) => {
  const bytes = Buffer.from(JSON.stringify({ id: ID, type, payload: examplePayload(type) }));

  it('has an example that is one, with words for people', () => {
    const read = readNotice(bytes, ['p1']);
    expect(read).toMatchObject({ ok: true, envelope: { type, key: examplePayload(type)['id'], audience: ['p1'] } });
    expect(examplePayload(type)['message']).toMatch(/^[A-Z].{20,}\.$/);
    expect(JSON.stringify(examplePayload(type))).not.toMatch(/undefined|NaN/);
  });

  it('is nothing that a source can send', () => {
    expect(readEnvelope(bytes, ['p1'])).toMatchObject({ ok: false, fault: 'invalid', errors: [{ pointer: '/type' }] });
  });

  it('has every fact of its type', () => {
    for (const name of Object.keys(NOTICE_PAYLOADS[type].shape)) {
      const { [name]: _, ...rest } = examplePayload(type);
      const without = Buffer.from(JSON.stringify({ id: ID, type, payload: rest }));
      expect(readNotice(without, ['p1'])).toMatchObject({ ok: false, errors: [{ pointer: `/payload/${name}` }] });
    }
  });
});

describe('the types of notices', () => {
  it('are seven beside the fourteen of sources', () => {
    const types = eventTypes.names('registrable');
    expect(types).toHaveLength(21);
    expect(types.filter((type) => isNoticeType(type))).toEqual([...NOTICE_TYPES]);
    expect(eventTypes.is('registrable', 'webhook.deleted')).toBe(false);
  });
});
