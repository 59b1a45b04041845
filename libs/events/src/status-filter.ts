import { z } from 'zod';

/** What the HTTP status of an attempt must be: one, or a class of a hundred. */
export const StatusFilter = z
  .string()
  .regex(/^[1-5](?:xx|\d\d)$/, 'a status such as 503, or a class such as 5xx, is expected');
