import { withBodyAside } from '@relay/jobs';
import { z } from 'zod';
import { DeadLetter } from './dead-letter.js';

/** A dead letter as its queue holds it; see `StoredJob`. */
export const StoredDeadLetter = z.union([DeadLetter, DeadLetter.omit({ v: true, body: true }).extend(withBodyAside)]);
export type StoredDeadLetter = z.infer<typeof StoredDeadLetter>;
