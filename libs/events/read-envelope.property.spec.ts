import * as fc from 'fast-check';
import { EVENT_TYPES, Envelope, readEnvelope } from './index.js';

const ID = '6f1c1c1e-8d1b-4c0b-9b1e-0a8a7c1f2d3e';
const TASK = { id: ID.replace('6', '7'), userId: ID.replace('6', '8'), financialPlanId: ID.replace('6', '9') };

describe('readEnvelope, for any bytes', () => {
  it('never throws, and accepts only envelopes that the schema accepts', () => {
    const member = fc.oneof(fc.constantFrom<unknown>(ID, ...EVENT_TYPES, TASK), fc.jsonValue());
    const value = fc.oneof(
      fc.jsonValue(),
      fc.record({ id: member, type: member, payload: member, more: member }, { requiredKeys: [] }),
    );
    fc.assert(
      fc.property(value, (candidate) => {
        const plain: unknown = JSON.parse(JSON.stringify(candidate));
        const result = readEnvelope(Buffer.from(JSON.stringify(plain)), []);
        expect(result.ok).toBe(Envelope.safeParse(plain).success);
      }),
      { numRuns: 1_000 },
    );
  });

  it('never throws on garbage', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(readEnvelope(bytes, [])).toMatchObject({ ok: false });
      }),
    );
  });
});
