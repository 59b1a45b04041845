import { excerpt } from '@relay/json';
import { z } from 'zod';

const PATTERN_ERROR = 'an event type such as order.paid is expected, or order.* for all whose names begin with order.';

/** Event types that a source may send: exact names, or a prefix of whole parts and `.*` for every name below it. */
export const TypePatterns = z
  .array(
    z
      .string()
      .max(240)
      .regex(/^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*(?:\.\*)?$/, PATTERN_ERROR),
  )
  .max(100)
  .describe('Event types that it may send, as `order.paid` or `order.*`; empty: all.');

const SHOWN_PATTERNS = 10;

/** Returns in words why a source with these patterns may not send the type; undefined if it may. Without patterns it may send all. */
export function typeRefusal(patterns: readonly string[] = [], type: string): string | undefined {
  const isMatch = (pattern: string): boolean =>
    pattern.endsWith('.*') ? type.startsWith(pattern.slice(0, -1)) : pattern === type;
  if (patterns.length === 0 || patterns.some(isMatch)) return undefined;
  const more = patterns.length - SHOWN_PATTERNS;
  const shown = [...patterns.slice(0, SHOWN_PATTERNS), ...(more > 0 ? [`${more} more`] : [])].join(', ');
  return `This source may not send ${excerpt(type)}: it may send ${shown}.`;
}
