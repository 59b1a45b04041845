import { z } from 'zod';
import { DeliveryJob } from './delivery-job.js';

/** A body of up to so many bytes is kept in its job; a larger one is stored once for all jobs of its envelope. */
export const INLINE_BYTES = 4_096;

/**
 * Members of a job or dead letter whose body is stored elsewhere (`JobBodies`). `bodyRef` names the reference of this job to the
 * body. It is new with each add, so that dropping the reference of an ended job never takes the body from a job that was added
 * again meanwhile.
 */
export const withBodyAside = { v: z.literal(2), bodyRef: z.string() };
export const StoredJob = z.union([DeliveryJob, DeliveryJob.omit({ v: true, body: true }).extend(withBodyAside)]);
export type StoredJob = z.infer<typeof StoredJob>;

/** The job without its body, and the reference to it. */
export type Aside<T extends DeliveryJob> = Omit<T, 'v' | 'body'> & { v: 2; bodyRef: string };
