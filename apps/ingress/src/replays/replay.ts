import { ReplayAnswer, ReplayCursor } from '@relay/replays';
import { z } from 'zod';

const MAX_LISTED = 100;

export const ReplaysQuery = z.strictObject({
  limit: z
    .string()
    .regex(/^(?:[1-9]\d?|100)$/, `a number from 1 to ${MAX_LISTED} is expected`)
    .transform(Number)
    .default(20)
    .describe(`Longest page: 1 to ${MAX_LISTED}.`),
  cursor: ReplayCursor,
});

export const ReplayAnswers = z
  .object({ replays: z.array(ReplayAnswer) })
  .meta({ id: 'Replays', description: 'Replays, newest first.' });
export type ReplayAnswers = z.infer<typeof ReplayAnswers>;
