// Measures the check of a payload by the schema of an applied event type, as the ingress does it, in a process of its own.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../lib/paths.mjs';
import { answer } from './tool.mjs';

const BYTES = 2_048;
const CHECKS = 20_000;

const text = (format) => ({ type: 'string', format });
const object = (properties) => ({ type: 'object', required: Object.keys(properties), properties });
const SCHEMA = {
  ...object({
    id: text('uuid'),
    createdAt: text('date-time'),
    customer: object({ id: text('uuid'), email: text('email') }),
    currency: { enum: ['CHF', 'EUR', 'USD'] },
    note: { type: 'string', maxLength: 2_000 },
    lines: { type: 'array', minItems: 1, maxItems: 100, items: { $ref: '#/$defs/line' } },
  }),
  additionalProperties: false,
  $defs: {
    line: object({
      sku: { type: 'string', minLength: 4, maxLength: 20 },
      title: { type: 'string', maxLength: 200 },
      quantity: { type: 'integer', minimum: 1 },
      unitPrice: { type: 'number', minimum: 0 },
    }),
  },
};

/** An order of twelve lines; its note fills it up to 2 KiB. */
function aPayload() {
  const line = { sku: 'PEN-10000', title: 'Fountain pen, medium nib', quantity: 2, unitPrice: 12.5 };
  const lines = Array.from({ length: 12 }, () => ({ ...line }));
  const customer = { id: randomUUID(), email: 'ada@example.com' };
  const payload = { id: randomUUID(), createdAt: new Date().toISOString(), customer, currency: 'EUR', note: '', lines };
  return { ...payload, note: '.'.repeat(BYTES - JSON.stringify(payload).length) };
}

/** Returns the mean CPU time of a check in µs, of each run. The first run compiles the code and is left out. */
async function measure({ runs }) {
  const file = join(root, 'dist', 'libs', 'registry', 'event-types', 'payload-schema.js');
  const { compilePayloadSchema } = await import(pathToFileURL(file).href);
  const faultsOf = compilePayloadSchema(SCHEMA);
  const payloads = Array.from({ length: 64 }, aPayload);
  const times = Array.from({ length: runs + 1 }, () => {
    const from = process.threadCpuUsage();
    for (let n = 0; n < CHECKS; n += 1)
      if (faultsOf(payloads[n % payloads.length]).length > 0)
        throw new Error('the payload does not keep to its schema');
    const { user, system } = process.threadCpuUsage(from);
    return (user + system) / CHECKS;
  });
  return times.slice(1);
}

answer({ measure });
