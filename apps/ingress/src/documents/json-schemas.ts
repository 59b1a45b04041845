import {
  AttemptRecord,
  Envelope,
  EnvelopeHeaders,
  Notice,
  NoticeHeaders,
  OperationsRecord,
  PAYLOADS,
} from '@relay/events';
import { ProblemBody } from '@relay/problem';
import { WebhookInput, WebhookRecord } from '@relay/webhooks';
import { z } from 'zod';
import type { Schema } from '@relay/openapi';

const TAKEN = { Envelope, Notice, ...PAYLOADS, WebhookInput };
const WRITTEN = {
  AttemptRecord,
  EnvelopeHeaders,
  NoticeHeaders,
  OperationsRecord,
  Problem: ProblemBody,
  Webhook: WebhookRecord,
};

/** Self-contained JSON Schemas (2020-12) by name, for validators and generators that do not read OpenAPI. */
export function jsonSchemas(publicUrl: string): Readonly<Record<string, Schema>> {
  const entries = [
    ...Object.entries(TAKEN).map(([name, schema]) => [name, z.toJSONSchema(schema, { io: 'input' })] as const),
    ...Object.entries(WRITTEN).map(([name, schema]) => [name, z.toJSONSchema(schema, { io: 'output' })] as const),
  ];
  return Object.fromEntries(
    entries.map(([name, schema]) => [name, { $id: `${publicUrl}/schemas/${name}.json`, ...schema }]),
  );
}
