import { z } from 'zod';

/** Its payload is what its source wrote: a newer relay may have accepted what this one does not know. */
export const SentEnvelope = z
  .looseObject({ id: z.guid(), type: z.string(), payload: z.unknown() })
  .meta({ id: 'SentEnvelope', description: 'An envelope as its source sent it.' });
