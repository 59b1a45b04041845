import type { z } from 'zod';
import type { AttemptTiming } from '@relay/events';

const STEPS = [
  ['waitMs', 'wait'],
  ['dnsMs', 'dns'],
  ['connectMs', 'connect'],
  ['tlsMs', 'tls'],
  ['firstByteMs', 'first byte'],
] as const;

/** What the time of an attempt went into, without steps of no time: `on a kept connection, first byte 1002 ms`. */
export function timingText(timing: z.infer<typeof AttemptTiming>): string {
  const steps = STEPS.flatMap(([step, name]) => ((timing[step] ?? 0) > 0 ? [`${name} ${timing[step]} ms`] : []));
  return [timing.reused ? 'on a kept connection' : 'on a new connection', ...steps].join(', ');
}
