import { EVENT_TYPES, isEventType } from '@relay/events';
import { z } from 'zod';

/** Offsets of 14 event types with 100 partitions each; the head of a request has 16 KiB. */
const MAX_LENGTH = 12 * 1024;

/** Event types, comma separated. */
export const ListenQuery = z.strictObject({
  type: z
    .string()
    .transform((text) => [...new Set(text.split(',').map((name) => name.trim()))])
    .pipe(z.array(z.string().refine(isEventType, `one of ${EVENT_TYPES.join(', ')} is expected`)))
    .transform((names) => names.filter((name) => isEventType(name)))
    .default([...EVENT_TYPES])
    .describe('Event types, comma separated or repeated; all without it.'),
});

export const ListenHeaders = z.object({
  'last-event-id': z
    .string()
    .min(1)
    .max(MAX_LENGTH)
    .optional()
    .describe('The `id` of the last event that you read: the stream goes on behind it.'),
});

/** A repeated parameter as one. */
export const oneType = (query: unknown): unknown => {
  const given = query as { readonly type?: unknown };
  return Array.isArray(given.type) ? { ...given, type: given.type.join(',') } : query;
};
