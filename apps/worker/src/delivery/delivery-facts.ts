import type { DeliveryJob } from '@relay/jobs';

/** What reports say of a delivery; a stored job is one. */
export type DeliveryFacts = Omit<DeliveryJob, 'v' | 'body' | 'partnerId'>;
