import { z } from 'zod';

/** The form of every error but those of RFC 6749; some have further members for the client. */
export const ProblemBody = z
  .looseObject({
    type: z.url().describe('Ends in `#` and a code; match on this.'),
    title: z.string().describe('Short words, the same for every occurrence.'),
    status: z.int().describe('The HTTP status.'),
    detail: z.string().describe('What is wrong this time, for a person.'),
    instance: z.string().describe('Path of the request.'),
    requestId: z.string().describe('As in the header `x-request-id`; name it when you ask us.'),
    errors: z
      .array(
        z.object({
          pointer: z.string().describe('JSON pointer (RFC 6901) into the body; empty for the body as a whole.'),
          detail: z.string().describe('What is expected there.'),
        }),
      )
      .optional()
      .describe('Each invalid member of the body.'),
    id: z.string().optional().describe('With 409: what is there already.'),
    ids: z.array(z.string()).optional().describe('With 409: what the request could mean.'),
  })
  .meta({ id: 'Problem', description: 'An error (RFC 9457).' });
export type ProblemBody = z.infer<typeof ProblemBody>;
