import type { AttemptFacts } from '@relay/events';
import type { DeliveryJob } from '@relay/jobs';

/** The members of a delivery that reports need; a stored job has them. */
export type DeliveryFacts = Omit<DeliveryJob, 'v' | 'body' | 'partnerId'>;

/** The parts of an endpoint's answer that are kept. */
export type KeptAnswer = Pick<AttemptFacts, 'answer' | 'answerHeaders'>;
