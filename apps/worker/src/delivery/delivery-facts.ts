import type { AttemptFacts } from '@relay/events';
import type { DeliveryJob } from '@relay/jobs';

/** What reports say of a delivery; a stored job is one. */
export type DeliveryFacts = Omit<DeliveryJob, 'v' | 'body' | 'partnerId'>;

/** What is kept of the answer to an attempt. */
export type KeptAnswer = Pick<AttemptFacts, 'answer' | 'answerHeaders'>;
