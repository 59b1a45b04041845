import { z } from 'zod';
import { DeliveryJob } from './delivery-job.js';

/** Bytes of a body that is kept in its job; a larger one is stored once for all jobs of its envelope. */
export const INLINE_BYTES = 4_096;

/**
 * A job or letter as it stands in its queue. `v: 2` has its body elsewhere: a worker that knows `v: 1` only puts it back.
 * `bodyRef` names this job's reference to the body; it is new with each add, so that whoever drops the reference of an
 * ended job can never take the body from a job that was added again meanwhile.
 */
export const withBodyAside = { v: z.literal(2), bodyRef: z.string() };
export const StoredJob = z.union([DeliveryJob, DeliveryJob.omit({ v: true, body: true }).extend(withBodyAside)]);
export type StoredJob = z.infer<typeof StoredJob>;

/** The job without its body, and the reference to it. */
export type Aside<T extends DeliveryJob> = Omit<T, 'v' | 'body'> & { v: 2; bodyRef: string };
