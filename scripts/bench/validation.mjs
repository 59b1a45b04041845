// What the ingress spends on the check of a payload by the schema of an applied event type. A process of its own.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../lib/paths.mjs';
import { answer } from './tool.mjs';

const BYTES = 2_048;
const CHECKS = 20_000;

const SCHEMA = {
  type: 'object',
  required: ['id', 'createdAt', 'customer', 'currency', 'lines'],
  additionalProperties: false,
  properties: {
    id: { type: 'string', format: 'uuid' },
    createdAt: { type: 'string', format: 'date-time' },
    customer: {
      type: 'object',
      required: ['id', 'email'],
      properties: { id: { type: 'string', format: 'uuid' }, email: { type: 'string', format: 'email' } },
    },
    currency: { enum: ['CHF', 'EUR', 'USD'] },
    note: { type: 'string', maxLength: 2_000 },
    lines: { type: 'array', minItems: 1, maxItems: 100, items: { $ref: '#/$defs/line' } },
  },
  $defs: {
    line: {
      type: 'object',
      required: ['sku', 'quantity', 'unitPrice'],
      properties: {
        sku: { type: 'string', minLength: 4, maxLength: 20 },
        title: { type: 'string', maxLength: 200 },
        quantity: { type: 'integer', minimum: 1 },
        unitPrice: { type: 'number', minimum: 0 },
        isGift: { type: 'boolean' },
      },
    },
  },
};

/** An order of twelve lines; its note fills it up to 2 KiB. */
function aPayload() {
  const lines = Array.from({ length: 12 }, (_, n) => ({
    sku: `PEN-${10_000 + n}`,
    title: 'Fountain pen, medium nib',
    quantity: n + 1,
    unitPrice: 12.5 + n,
    isGift: n % 2 === 0,
  }));
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
