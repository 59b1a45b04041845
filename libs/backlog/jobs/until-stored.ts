import { reasonOf, type LogFields, type ThrottledLog } from '@relay/telemetry';

/** Repeats a step until the store has confirmed it. Steps must be idempotent. */
export async function untilStored<T>(step: () => Promise<T>, log: ThrottledLog, fields: LogFields): Promise<T> {
  for (let wait = 200; ; wait = Math.min(wait * 2, 5_000)) {
    try {
      return await step();
    } catch (error) {
      log.warn(
        'store.refused',
        'A step could not be stored; the worker repeats it until it is stored, and pauses reading',
        { ...fields, reason: reasonOf(error) },
      );
      await new Promise((done) => {
        setTimeout(done, wait);
      });
    }
  }
}
